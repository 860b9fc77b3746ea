#include "interpose/launch/process_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "interpose/descriptor.hpp"

namespace troupe {
namespace {

constexpr std::chrono::seconds tidying_time{1};

/// The fourth field of /proc/PID/stat; the second is a name in brackets that may hold anything. 0:
/// gone.
pid_t parent_of(const char* pid) {
  char path[64], text[512];
  std::snprintf(path, sizeof path, "/proc/%s/stat", pid);
  const descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file) return 0;
  const auto got = ::read(file.get(), text, sizeof text - 1);
  if (got <= 0) return 0;
  text[got] = '\0';
  const char* after_name = std::strrchr(text, ')');
  int parent = 0;
  return after_name && std::sscanf(after_name + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

/// It ignores what asks a process to end: it is there to clean up after the others, and ends with
/// them (Python's resource tracker).
bool cleans_up(pid_t pid) {
  char path[64], text[4096];
  std::snprintf(path, sizeof path, "/proc/%d/status", static_cast<int>(pid));
  const descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  const auto got = file ? ::read(file.get(), text, sizeof text - 1) : 0;
  text[got > 0 ? got : 0] = '\0';
  const char* line = std::strstr(text, "SigIgn:");
  if (!line) return false;
  const auto ignored = std::strtoull(line + std::strlen("SigIgn:"), nullptr, 16);
  const auto asks = 1ull << (SIGINT - 1) | 1ull << (SIGTERM - 1);
  return (ignored & asks) == asks;
}

}  // namespace

process_tree process_tree::read() {
  process_tree tree;
  DIR* proc = ::opendir("/proc");
  if (!proc) return tree;
  while (const dirent* entry = ::readdir(proc)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    if (const auto parent = parent_of(entry->d_name))
      tree.children_.emplace(parent, std::atoi(entry->d_name));
  }
  ::closedir(proc);
  return tree;
}

std::vector<pid_t> process_tree::children_of(pid_t parent) const {
  std::vector<pid_t> children;
  const auto [first, last] = children_.equal_range(parent);
  for (auto at = first; at != last; ++at) children.push_back(at->second);
  return children;
}

std::vector<pid_t> process_tree::descendants_of(pid_t ancestor) const {
  std::vector<pid_t> found = children_of(ancestor);
  for (std::size_t at = 0; at < found.size(); ++at) {
    const auto next = children_of(found[at]);
    found.insert(found.end(), next.begin(), next.end());
  }
  return found;
}

void kill_descendants() {
  using namespace std::chrono_literals;
  const auto begin = std::chrono::steady_clock::now();
  auto pause = 1ms;
  for (auto now = begin; now < begin + 10s; now = std::chrono::steady_clock::now()) {
    // Parents first, so that they start no more; orphans become our children and are met again.
    for (const auto pid : process_tree::read().descendants_of(::getpid()))
      if (now >= begin + tidying_time || !cleans_up(pid)) ::kill(pid, SIGKILL);
    for (;;) {
      const auto reaped = ::waitpid(-1, nullptr, WNOHANG);
      if (reaped < 0 && errno == ECHILD) return;
      if (reaped <= 0) break;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, 20ms);
  }
}

}  // namespace troupe
