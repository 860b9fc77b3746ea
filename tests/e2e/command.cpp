#include "tests/e2e/command.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "messages/assert.hpp"

extern char** environ;

namespace troupe::e2e {
namespace {

struct pipe_ends {
  int read{}, write{};
};

pipe_ends make_pipe() {
  int ends[2];
  TROUPE_ASSERT(pipe2(ends, O_CLOEXEC) == 0, errno);
  return {ends[0], ends[1]};
}

/// Empty when it is not there or, as a process that has just ended, cannot be read (a stream's
/// buffer would throw).
std::string slurp(const std::string& path) {
  std::string text;
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return text;
  char piece[4096];
  for (ssize_t n; (n = read(descriptor, piece, sizeof piece)) > 0;)
    text.append(piece, static_cast<std::size_t>(n));
  close(descriptor);
  return text;
}

struct stat_line {
  pid_t parent{};
  char state = '?';
};

stat_line read_stat(const std::string& folder) {
  const auto text = slurp(folder + "/stat");
  const auto name_end = text.rfind(')');  // the name may hold blanks and parentheses
  stat_line line;
  if (name_end != std::string::npos)
    std::sscanf(text.c_str() + name_end + 1, " %c %d", &line.state, &line.parent);
  return line;
}

}  // namespace

command::command(std::vector<std::string> arguments, command_options options)
    : options_(std::move(options)), started_(std::chrono::steady_clock::now()) {
  ::signal(SIGPIPE, SIG_IGN);
  TROUPE_ASSERT(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0, errno);
  const auto in = make_pipe(), out = make_pipe(), err = make_pipe();
  std::vector<char*> words;
  for (auto& word : arguments) words.push_back(word.data());
  words.push_back(nullptr);
  pid_ = fork();
  TROUPE_ASSERT(pid_ >= 0, errno);
  if (pid_ == 0) {
    setpgid(0, 0);
    ::signal(SIGPIPE, SIG_DFL);
    dup2(in.read, 0), dup2(out.write, 1), dup2(err.write, 2);
    // What troupe leaves as it finds it would make a run depend on who tests it.
    for (const auto* name : {"MASTER_ADDR", "MASTER_PORT", "OMP_NUM_THREADS"}) unsetenv(name);
    for (const auto& [name, value] : options_.environment) setenv(name.c_str(), value.c_str(), 1);
    if (chdir(options_.folder.c_str()) == 0) execvp(words[0], words.data());
    _exit(127);
  }
  setpgid(pid_, pid_);
  close(in.read), close(out.write), close(err.write);
  out_reader_ = std::thread([this, end = out.read] { read_all(end, out_); });
  err_reader_ = std::thread([this, end = err.read] { read_all(end, err_); });
  input_writer_ = std::thread([this, end = in.write] { feed_input(end); });
}

command::~command() {
  if (reaped_) return;
  signal_group(SIGKILL);
  reap();
  for (auto& left : descendants()) kill(left.pid, SIGKILL);
  give_up_ = true;
  join();
}

void command::join() {
  for (auto* thread : {&out_reader_, &err_reader_, &input_writer_}) thread->join();
}

// Until every writer closed its end: also those that outlive the program.
void command::read_all(int descriptor, std::string& into) {
  char piece[65536];
  while (!give_up_) {
    pollfd ready{descriptor, POLLIN, 0};
    if (poll(&ready, 1, 50) <= 0) continue;
    const auto got = read(descriptor, piece, sizeof piece);
    if (got <= 0) break;
    into.append(piece, static_cast<std::size_t>(got));
  }
  close(descriptor);
  --reading_;
}

void command::feed_input(int descriptor) {
  std::size_t done = 0;
  while (done < options_.input.size()) {
    const auto put = write(descriptor, options_.input.data() + done, options_.input.size() - done);
    if (put <= 0) break;
    done += static_cast<std::size_t>(put);
  }
  close(descriptor);
}

void command::signal(int number) const { kill(pid_, number); }
void command::signal_group(int number) const { kill(-pid_, number); }

int command::reap() {
  int status = 0;
  waitpid(pid_, &status, 0);
  reaped_ = true;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

outcome command::wait() {
  TROUPE_ASSERT(!reaped_, pid_);
  outcome ended;
  const auto left = options_.timeout - (std::chrono::steady_clock::now() - started_);
  const auto exited = [this] {
    siginfo_t seen{};
    return waitid(P_PID, static_cast<id_t>(pid_), &seen, WEXITED | WNOHANG | WNOWAIT) == 0
           && seen.si_pid == pid_;
  };
  if (!eventually(exited, std::chrono::duration_cast<std::chrono::milliseconds>(left))) {
    ended.timed_out = true;
    signal_group(SIGKILL);
  }
  ended.status = reap();
  // Whoever outlived it may hold the pipes: for a moment that is theirs to finish.
  eventually([this] { return reading_ == 0; }, ended.timed_out ? 500ms : 5s);
  give_up_ = true;
  join();
  ended.out = std::move(out_);
  ended.err = std::move(err_);
  return ended;
}

outcome run(std::vector<std::string> arguments, command_options options) {
  return command(std::move(arguments), std::move(options)).wait();
}

std::string describe(const outcome& ended) {
  return "status " + std::to_string(ended.status) + (ended.timed_out ? " (timed out)" : "")
         + "\n--- standard output\n" + ended.out + "--- standard error\n" + ended.err;
}

std::vector<process> descendants() {
  std::map<pid_t, std::vector<pid_t>> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    const auto line = read_stat(entry.path());
    if (line.state != 'Z' && line.state != 'X' && line.state != '?')
      children[line.parent].push_back(pid);
  }
  std::vector<process> found;
  std::vector<pid_t> queue = {getpid()};
  while (!queue.empty()) {
    const auto parent = queue.back();
    queue.pop_back();
    for (const auto pid : children[parent]) {
      auto words = slurp("/proc/" + std::to_string(pid) + "/cmdline");
      std::replace(words.begin(), words.end(), '\0', ' ');
      found.push_back({pid, std::move(words)});
      queue.push_back(pid);
    }
  }
  return found;
}

}  // namespace troupe::e2e
