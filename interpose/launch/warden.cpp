#include "interpose/launch/warden.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "messages/wire_codec.hpp"

namespace troupe {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> all;
  for (const auto& word : words) all.push_back(const_cast<char*>(word.c_str()));
  all.push_back(nullptr);
  return all;
}

/// Every process whose ancestry leads to `root`, by /proc (a process may fork while we read:
/// callers repeat).
std::vector<pid_t> descendants_of(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  DIR* all = ::opendir("/proc");
  if (!all) return {};
  while (auto* entry = ::readdir(all)) {
    const auto pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid <= 0) continue;
    char path[64], text[1024];
    std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
    const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) continue;
    const auto length = ::read(descriptor, text, sizeof text - 1);
    ::close(descriptor);
    if (length <= 0) continue;
    text[length] = 0;
    const char* after_name = std::strrchr(text, ')');
    int parent = 0;
    char state = 0;
    if (after_name && std::sscanf(after_name + 1, " %c %d", &state, &parent) == 2 && state != 'Z')
      children.emplace(parent, pid);
  }
  ::closedir(all);
  std::vector<pid_t> found{root};
  for (std::size_t n = 0; n < found.size(); ++n) {
    auto [begin, end] = children.equal_range(found[n]);
    for (auto at = begin; at != end; ++at) found.push_back(at->second);
  }
  found.erase(found.begin());
  return found;
}

class warden {
 public:
  explicit warden(const warden_orders& orders) : orders_(orders) {}

  [[noreturn]] void live() {
    ::setsid();
    ::prctl(PR_SET_NAME, "troupe-warden");
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &children, &mask_before_);
    signals_ = ::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
    if (orders_.python)
      start_parent();
    else
      for (std::uint32_t rank = 0; rank < orders_.world; ++rank) start_rank(rank);
    for (auto [out, err] : orders_.outputs) {
      ::close(out);
      ::close(err);
    }
    for (;;) {
      pollfd ready[2] = {{orders_.control, POLLIN, 0}, {signals_, POLLIN, 0}};
      ::poll(ready, 2, -1);
      if (ready[1].revents) reap();
      if (ready[0].revents && !obey()) end_all();
    }
  }

 private:
  void report(const from_launcher::frame& frame) {
    const auto bytes = encode(frame);
    std::size_t sent = 0;
    while (sent < bytes.size()) {
      const auto n =
          ::send(orders_.control, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;  // the runner is gone: obey() will see it
      sent += static_cast<std::size_t>(n);
    }
  }

  /// In the child: what every process of the run starts with.
  void become_child(int out, int err) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::close(nothing);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
  }

  [[noreturn]] void execute(const std::vector<std::string>& words,
                            const std::vector<std::string>& environment) {
    auto arguments = pointers(words), variables = pointers(environment);
    ::execve(orders_.program.c_str(), arguments.data(), variables.data());
    std::fprintf(stderr, "troupe: cannot run %s: %s\n", orders_.program.c_str(),
                 std::strerror(errno));
    ::_exit(127);
  }

  std::vector<std::string> rank_environment(std::uint32_t rank) const {
    auto all = orders_.environment;
    all.push_back("RANK=" + std::to_string(rank));
    all.push_back("LOCAL_RANK=" + std::to_string(rank));
    return all;
  }

  void start_rank(std::uint32_t rank) {
    const auto pid = ::fork();
    if (pid < 0) {
      report(from_launcher::failed{
          {errc::no_resources, std::string{"cannot fork: "} + std::strerror(errno)}});
      return;
    }
    if (pid == 0) {
      become_child(orders_.outputs[rank].first, orders_.outputs[rank].second);
      execute(orders_.command, rank_environment(rank));
    }
    ranks_[pid] = rank;
    report(from_launcher::started{{rank}, pid});
  }

  /// The parent from which the ranks are forked: it gets all their pipes and the control stream,
  /// and reports by itself.
  void start_parent() {
    const auto pid = ::fork();
    if (pid < 0) {
      report(from_launcher::failed{
          {errc::no_resources, std::string{"cannot fork: "} + std::strerror(errno)}});
      return;
    }
    if (pid > 0) {
      parent_ = pid;
      return;
    }
    become_child(orders_.outputs[0].first, orders_.outputs[0].second);
    auto variables = orders_.environment;
    std::string pipes;
    for (auto [out, err] : orders_.outputs) {
      ::fcntl(out, F_SETFD, 0);
      ::fcntl(err, F_SETFD, 0);
      pipes += (pipes.empty() ? "" : ",") + std::to_string(out) + ":" + std::to_string(err);
    }
    ::fcntl(orders_.control, F_SETFD, 0);
    variables.push_back("TROUPE_ZYGOTE=1");
    variables.push_back("TROUPE_ZYGOTE_OUTPUTS=" + pipes);
    variables.push_back("TROUPE_ZYGOTE_CONTROL=" + std::to_string(orders_.control));
    std::vector<std::string> words{orders_.command.front()};
    const auto& python = *orders_.python;
    words.insert(words.end(), python.options.begin(), python.options.end());
    words.push_back(orders_.library_folder + "/python/troupe_zygote.py");
    words.insert(words.end(), python.arguments.begin(), python.arguments.end());
    execute(words, variables);
  }

  void reap() {
    signalfd_siginfo told;
    while (::read(signals_, &told, sizeof told) == sizeof told) {
    }
    for (;;) {
      int status = 0;
      rusage used{};
      const auto pid = ::wait4(-1, &status, WNOHANG, &used);
      if (pid <= 0) return;
      if (pid == parent_) {
        parent_ = -1;
        // The ranks died with it if it was killed; it reports the ends it saw itself.
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
          report(from_launcher::failed{{errc::lost_rank, describe_parent_end(status)}});
        continue;
      }
      auto rank = ranks_.find(pid);
      if (rank == ranks_.end()) continue;  // somebody's orphan
      auto ns = [](const timeval& t) {
        return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000
               + static_cast<std::uint64_t>(t.tv_usec) * 1000;
      };
      report(from_launcher::ended{{rank->second},
                                  pid,
                                  status,
                                  ns(used.ru_utime) + ns(used.ru_stime),
                                  static_cast<std::uint64_t>(used.ru_maxrss) * 1024});
      ranks_.erase(rank);
    }
  }

  static std::string describe_parent_end(int status) {
    std::string text = "the process from which the ranks are forked ended before them";
    if (WIFSIGNALED(status)) return text + " by signal " + std::to_string(WTERMSIG(status));
    return text + " with status " + std::to_string(WEXITSTATUS(status));
  }

  /// False when the runner is gone or says that it is over.
  bool obey() {
    std::uint8_t buffer[4096];
    const auto n = ::recv(orders_.control, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (n <= 0) return false;
    frames_.feed({buffer, static_cast<std::size_t>(n)});
    for (;;) {
      auto bytes = frames_.next();
      if (!bytes) return false;
      if (!*bytes) return true;
      auto frame = decode_to_launcher(**bytes);
      if (!frame || std::holds_alternative<to_launcher::end>(*frame)) return false;
      const auto number = std::get<to_launcher::signal>(*frame).number;
      for (auto pid : descendants_of(::getpid()))
        if (pid != parent_)
          ::kill(pid, number);  // the parent reports the ranks' ends, then goes by itself
    }
  }

  [[noreturn]] void end_all() {
    for (int rounds = 0; rounds < 1000; ++rounds) {
      const auto left = descendants_of(::getpid());
      for (auto pid : left) ::kill(pid, SIGKILL);
      while (::waitpid(-1, nullptr, WNOHANG) > 0) {
      }
      if (left.empty()) break;
      ::usleep(1000);
    }
    ::_exit(0);
  }

  const warden_orders& orders_;
  sigset_t mask_before_{};
  int signals_ = -1;
  pid_t parent_ = -1;
  std::map<pid_t, std::uint32_t> ranks_;
  frame_splitter frames_;
};

}  // namespace

void be_warden(const warden_orders& orders) { warden{orders}.live(); }

}  // namespace troupe
