// command: a program run as a user would run it: in a process group of its own, with a deadline,
// its output kept.
//
// What outlives its parent is adopted by this process (child_subreaper), so that nothing can hide
// from descendants(). The destructor kills what is left. Not here: what a run may leave behind
// (leftovers.hpp).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace troupe::e2e {

using namespace std::chrono_literals;

struct command_options {
  std::map<std::string, std::string> environment = {};  ///< added to this process's own
  std::string folder = "/";                             ///< where it runs
  std::string input = {};                               ///< its standard input
  std::chrono::milliseconds timeout = 600s;  ///< then it is killed, and the outcome says so
};

struct outcome {
  int status{};  ///< the exit status, or 128 + the signal that killed it
  bool timed_out{};
  std::string out, err;
};

/// For messages of failed checks: status and both streams.
std::string describe(const outcome& ended);

class command {
 public:
  command(std::vector<std::string> arguments, command_options options = {});
  command(const command&) = delete;
  command& operator=(const command&) = delete;
  ~command();

  pid_t pid() const { return pid_; }
  /// To the program alone.
  void signal(int number) const;
  /// To its process group, as a terminal's Ctrl-C does.
  void signal_group(int number) const;
  /// Until it ended or its time is up. Once.
  outcome wait();

 private:
  void read_all(int descriptor, std::string& into);
  void feed_input(int descriptor);
  int reap();
  void join();

  command_options options_;
  std::chrono::steady_clock::time_point started_;
  pid_t pid_{};
  bool reaped_ = false;
  std::string out_, err_;
  std::atomic<bool> give_up_ = false;  ///< the readers stop although somebody holds the pipes open
  std::atomic<int> reading_ = 2;
  std::thread out_reader_, err_reader_, input_writer_;
};

/// Runs it to its end.
outcome run(std::vector<std::string> arguments, command_options options = {});

struct process {
  pid_t pid{};
  std::string command_line;
};

/// All living processes (no zombies) below this one, adopted ones too.
std::vector<process> descendants();

/// True once CONDITION is; false when DEADLINE passed first.
template <class Condition>
bool eventually(Condition condition, std::chrono::milliseconds deadline = 10s) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

}  // namespace troupe::e2e
