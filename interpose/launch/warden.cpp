#include "interpose/launch/warden.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "interpose/launch/child_process.hpp"
#include "interpose/launch/launched_ranks.hpp"
#include "interpose/launch/process_tree.hpp"
#include "messages/wire_codec.hpp"

namespace troupe {
namespace {

using steady = std::chrono::steady_clock;

/// What a program that starts ranks has to say why they failed, once they are gone.
constexpr std::chrono::seconds last_words{5};

class warden {
 public:
  explicit warden(warden_plan plan) : plan_(std::move(plan)) {}

  void run() {
    detach();
    if (auto started = plan_.once                ? start_program()
                       : plan_.program.script_at ? start_zygote()
                                                 : start_ranks();
        !started)
      report(from_launcher::failed{started.error()});
    if (!plan_.once) plan_.outputs.clear();  // a rank's pipe ends with the rank
    while (serve()) {
    }
    kill_descendants();
  }

 private:
  void detach();
  result<void> start_ranks();
  result<void> start_zygote();
  result<void> start_program();
  bool serve();
  bool read_control();
  void read_failures();
  void reap();
  void zygote_ended(int status);
  void program_ended(int status);
  void report_launched(const std::vector<from_launcher::frame>& frames);
  void pass_on(int signal);
  int timeout_ms() const;
  void report(const from_launcher::frame& frame);

  warden_plan plan_;
  descriptor signals_, failures_, failures_in_children_;
  frame_splitter frames_;
  std::map<pid_t, rank_id> ranks_;
  pid_t zygote_ = -1;
  // Of a program that starts its ranks itself:
  std::optional<launched_ranks> launched_;
  pid_t program_ = -1;
  descriptor output_table_;
  std::uint32_t ends_ = 0;
  std::optional<from_launcher::ended> end_held_;
  std::optional<steady::time_point>
      heard_until_;  ///< a program whose ranks are gone, and not in order
  bool rank_failed_ = false, failure_told_ = false;
};

std::uint64_t in_ns(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000
         + static_cast<std::uint64_t>(time.tv_usec) * 1'000;
}

/// Nothing of the runner's stays open here but what the plan names: its sockets and files must end
/// with it.
void close_others(const std::set<int>& kept) {
  std::vector<int> open;
  DIR* folder = ::opendir("/proc/self/fd");
  if (!folder) return;
  while (const dirent* entry = ::readdir(folder)) open.push_back(std::atoi(entry->d_name));
  ::closedir(folder);
  for (int number : open)
    if (number > 2 && !kept.contains(number)) ::close(number);
}

void warden::detach() {
  ::setsid();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "troupe-warden");
  std::set<int> kept{plan_.control.get()};
  for (const auto& ends : plan_.outputs)
    kept.insert({ends.standard_output.get(), ends.standard_error.get()});
  close_others(kept);
  if (const int null = ::open("/dev/null", O_RDWR); null >= 0) {
    ::dup2(null, 0);
    if (null > 2) ::close(null);
  }
  ::dup2(2, 1);  // the runner's standard output is for its report
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&wanted, number);
  ::sigprocmask(SIG_SETMASK, &wanted, nullptr);
  signals_ = descriptor(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
    failures_ = descriptor(ends[0]);
    failures_in_children_ = descriptor(ends[1]);
  }
}

result<void> warden::start_ranks() {
  for (std::uint32_t rank = 0; rank < plan_.world; ++rank) {
    child_plan child;
    child.path = &plan_.program.path;
    child.arguments = &plan_.program.arguments;
    child.environment = rank_environment(plan_.environment, rank, plan_.per_host);
    child.standard_output = plan_.outputs[rank].standard_output.get();
    child.standard_error = plan_.outputs[rank].standard_error.get();
    child.descriptors = plan_.rank_descriptors;
    child.failures = failures_in_children_.get();
    child.number = rank;
    TROUPE_TRY(pid, start_child(child));
    ranks_[pid] = {rank};
    report(from_launcher::started{{rank}, pid});
  }
  return {};
}

/// `python [options] troupe_zygote.py script …`; its standard input says what to do: one line with
/// the control descriptor, the world, the ranks of one host and the ranks' soft limit of
/// descriptors, then a line with each rank's two output descriptors.
result<void> warden::start_zygote() {
  const descriptor orders(::memfd_create("troupe-zygote", MFD_CLOEXEC));
  std::string text = std::to_string(plan_.control.get()) + " " + std::to_string(plan_.world) + " "
                     + std::to_string(plan_.per_host) + " "
                     + std::to_string(plan_.rank_descriptors.rlim_cur) + "\n";
  child_plan child;
  child.inherited.push_back(plan_.control.get());
  for (const auto& ends : plan_.outputs) {
    const int output = ends.standard_output.get(), errors = ends.standard_error.get();
    text += std::to_string(output) + " " + std::to_string(errors) + "\n";
    child.inherited.insert(child.inherited.end(), {output, errors});
  }
  if (::write(orders.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())
      || ::lseek(orders.get(), 0, SEEK_SET) != 0)
    return error{errc::no_resources, "no memory to start ranks from"};
  auto arguments = plan_.program.arguments;
  arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(plan_.program.script_at),
                   plan_.library_folder + "/python/troupe_zygote.py");
  auto variables = plan_.environment;
  variables["TROUPE_ZYGOTE"] = "1";
  child.path = &plan_.program.path;
  child.arguments = &arguments;
  child.environment = environment_lines(variables);
  child.standard_input = orders.get();
  child.descriptors = plan_.rank_descriptors;
  // It holds all the ranks' pipes for a while.
  child.descriptors.rlim_cur = std::max<rlim_t>(child.descriptors.rlim_cur, 256 + 5 * plan_.world);
  child.failures = failures_in_children_.get();
  TROUPE_TRY(pid, start_child(child));
  zygote_ = pid;
  return {};
}

/// Executed once. Its processes find in our descriptors where each rank writes.
result<void> warden::start_program() {
  TROUPE_TRY(launched, launched_ranks::open(plan_.world));
  launched_ = std::move(launched);
  output_table_ = descriptor(::memfd_create("troupe-outputs", MFD_CLOEXEC));
  for (const auto& ends : plan_.outputs) {
    const troupe_output_ends numbers{ends.standard_output.get(), ends.standard_error.get()};
    if (::write(output_table_.get(), &numbers, sizeof numbers) != sizeof numbers)
      return error{errc::no_resources, "no memory for the ranks' outputs"};
  }
  auto variables = plan_.environment;
  variables["TROUPE_NOTICES"] = launched_->socket_name();
  variables["TROUPE_OUTPUTS"] = std::to_string(::getpid()) + ":"
                                + std::to_string(output_table_.get()) + ":"
                                + std::to_string(plan_.world);
  child_plan child;
  child.path = &plan_.program.path;
  child.arguments = &plan_.program.arguments;
  child.environment = environment_lines(variables);
  child.standard_output = plan_.outputs.back().standard_output.get();
  child.standard_error = plan_.outputs.back().standard_error.get();
  child.descriptors = plan_.rank_descriptors;
  child.failures = failures_in_children_.get();
  TROUPE_TRY(pid, start_child(child));
  program_ = pid;
  return {};
}

/// Waits for something to happen and sees to it; false: end.
bool warden::serve() {
  pollfd ready[] = {{plan_.control.get(), POLLIN, 0},
                    {signals_.get(), POLLIN, 0},
                    {failures_.get(), POLLIN, 0},
                    {launched_ ? launched_->readable() : -1, POLLIN, 0}};
  if (::poll(ready, 4, timeout_ms()) < 0) return errno == EINTR;
  if (launched_) {
    report_launched(launched_->read(steady::now()));
    report_launched(launched_->overdue(steady::now()));
  }
  if (heard_until_ && steady::now() >= *heard_until_) {
    heard_until_.reset();
    if (program_ > 0) ::kill(-program_, SIGKILL);
  }
  if (ready[2].revents) read_failures();
  if (ready[1].revents) {
    signalfd_siginfo got;
    while (::read(signals_.get(), &got, sizeof got) == sizeof got)
      if (got.ssi_signo != SIGCHLD) return false;
    read_failures();  // the reason before the end
    reap();
  }
  return !ready[0].revents || read_control();
}

int warden::timeout_ms() const {
  int least = launched_ ? launched_->timeout_ms(steady::now()) : -1;
  if (heard_until_) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*heard_until_ - steady::now());
    const int ms = std::max(0, static_cast<int>(left.count()));
    least = least < 0 ? ms : std::min(least, ms);
  }
  return least;
}

bool warden::read_control() {
  std::uint8_t buffer[4096];
  const auto got = ::recv(plan_.control.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  if (got == 0) return false;
  frames_.feed({buffer, static_cast<std::size_t>(got)});
  for (;;) {
    auto bytes = frames_.next();
    if (!bytes) return false;
    if (!*bytes) return true;
    auto frame = decode_to_launcher(**bytes);
    if (!frame || std::holds_alternative<to_launcher::end>(*frame)) return false;
    pass_on(std::get<to_launcher::signal>(*frame).number);
  }
}

void warden::read_failures() {
  exec_failure failure;
  if (::read(failures_.get(), &failure, sizeof failure) != sizeof failure) return;
  failure_told_ = true;
  report(from_launcher::failed{{errc::bad_input, "cannot execute " + plan_.program.path + ": "
                                                     + std::strerror(failure.error)}});
}

void warden::reap() {
  rusage used;
  int status;
  std::optional<int> program_status;  // after the ranks that it left to us
  for (pid_t pid; (pid = ::wait4(-1, &status, WNOHANG, &used)) > 0;) {
    if (pid == zygote_) zygote_ended(status);
    if (launched_)
      report_launched(launched_->reaped(pid, status, in_ns(used.ru_utime) + in_ns(used.ru_stime),
                                        static_cast<std::uint64_t>(used.ru_maxrss) * 1024));
    if (pid == program_) program_status = status;
    const auto rank = ranks_.find(pid);
    if (rank == ranks_.end()) continue;
    report(from_launcher::ended{rank->second, pid, status,
                                in_ns(used.ru_utime) + in_ns(used.ru_stime),
                                static_cast<std::uint64_t>(used.ru_maxrss) * 1024});
    ranks_.erase(rank);
  }
  if (program_status) program_ended(*program_status);
}

void warden::zygote_ended(int status) {
  zygote_ = -1;
  if (failure_told_) return;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  const auto how = WIFSIGNALED(status) ? "by signal " + std::to_string(WTERMSIG(status))
                                       : "with status " + std::to_string(WEXITSTATUS(status));
  report(from_launcher::failed{
      {errc::bad_input, plan_.program.path + ", which ranks are forked from, ended " + how}});
}

/// The run is over with its last rank, whose end is held back until the program ended too: it may
/// still fail, or has to say why its ranks did.
void warden::report_launched(const std::vector<from_launcher::frame>& frames) {
  for (const auto& frame : frames) {
    const auto* end = std::get_if<from_launcher::ended>(&frame);
    if (end && end->wait_status != 0) rank_failed_ = true;
    if (end && ++ends_ == plan_.world && program_ > 0) {
      end_held_ = *end;
      if (rank_failed_) heard_until_ = steady::now() + last_words;
    } else {
      report(frame);
    }
  }
}

void warden::program_ended(int status) {
  program_ = -1;
  report_launched(launched_->read(steady::now()));  // what was said before
  if (end_held_ && end_held_->wait_status != 0) {   // its reason goes before what it led to
    report(*end_held_);
    end_held_.reset();
  }
  const auto seen = std::to_string(launched_->seen()), all = std::to_string(plan_.world);
  const bool failed = WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
  const auto how = WIFSIGNALED(status) ? "by signal " + std::to_string(WTERMSIG(status))
                                       : "with status " + std::to_string(WEXITSTATUS(status));
  if (failed && !failure_told_)
    report(from_launcher::failed{
        {errc::program_failed, plan_.program.path + ", which starts the ranks, ended " + how + " ("
                                   + seen + " of " + all + " ranks were there)"}});
  if (!failed && launched_->seen() < plan_.world)
    report(from_launcher::failed{
        {errc::bad_input, plan_.program.path + " ended when " + seen + " of " + all
                              + " ranks had been there: --world is to say how many it starts, and "
                                "a process is one from init_process_group on"}});
  if (end_held_) report(*end_held_);
  end_held_.reset();
}

/// A program that starts its ranks is to see them end before it is ended itself: it says why.
void warden::pass_on(int signal) {
  if (launched_) {
    const auto ranks = launched_->alive();
    for (const auto pid : ranks) ::kill(pid, signal);
    if (program_ <= 0 || heard_until_) return;
    if (rank_failed_ && ranks.empty())
      heard_until_ = steady::now() + last_words;
    else if (ranks.empty() || signal == SIGKILL)
      ::kill(-program_, signal);
    return;
  }
  std::vector<pid_t> groups;
  for (const auto& [pid, rank] : ranks_) groups.push_back(pid);
  if (zygote_ > 0) groups = process_tree::read().children_of(zygote_);
  for (const auto pid : groups)
    if (::kill(-pid, signal) != 0) ::kill(pid, signal);  // forked, and not yet a group of its own
}

/// One write a frame: the zygote writes to the same stream.
void warden::report(const from_launcher::frame& frame) {
  const auto bytes = encode(frame);
  ssize_t sent;
  do sent = ::send(plan_.control.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
}

}  // namespace

void run_warden(warden_plan plan) {
  warden(std::move(plan)).run();
  ::_exit(0);
}

}  // namespace troupe
