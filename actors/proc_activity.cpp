// /proc/PID/stat shows the leading thread's state only: every /proc/PID/task/* is read.
#include "actors/proc_activity.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace troupe {
namespace {

struct thread_line {
  char state = '?';
  std::uint64_t ticks = 0;
};

bool read_thread(std::int32_t pid, const char* thread, thread_line& into) {
  const auto path = fmt::format("/proc/{}/task/{}/stat", pid, thread);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  char text[1024];
  const auto length = ::read(descriptor, text, sizeof text - 1);
  ::close(descriptor);
  if (length <= 0) return false;
  text[length] = 0;
  const char* at = std::strrchr(text, ')');  // the name may hold anything, blanks and brackets too
  if (!at || !at[1]) return false;
  into.state = at[2];
  at += 3;
  for (int field = 4; field < 14 && at; ++field)
    at = std::strchr(at + 1, ' ');  // to utime, the 14th
  if (!at) return false;
  char* end = nullptr;
  into.ticks = std::strtoull(at, &end, 10);
  into.ticks += std::strtoull(end, nullptr, 10);
  return true;
}

/// Exact CPU time where the kernel offers it: the ticks above are 10 ms coarse.
std::uint64_t exact_cpu_ns(std::int32_t pid) {
  clockid_t clock;
  timespec spent{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &spent) != 0) return 0;
  return static_cast<std::uint64_t>(spent.tv_sec) * 1'000'000'000
         + static_cast<std::uint64_t>(spent.tv_nsec);
}

std::string read_text(const std::string& path) {
  std::string text;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return text;
  text.resize(8192);
  const auto length = ::read(descriptor, text.data(), text.size());
  ::close(descriptor);
  text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return text;
}

/// No other process sees the memory at this address.
bool is_private(std::int32_t pid, unsigned long address) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    char access[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, access) == 3 && begin <= address
        && address < end)
      return access[3] == 'p';
  }
  return false;
}

/// The thread sleeps until another thread of its process wakes it: in futex(), on an address that
/// is the process' own (a thread that is joined is waited for as if others could see it), without a
/// time limit.
bool waits_for_thread(std::int32_t pid, const char* thread) {
  const auto text = read_text(fmt::format("/proc/{}/task/{}/syscall", pid, thread));
  long number = -1;
  unsigned long address = 0, command = 0, expected = 0, timeout = 0;
  if (std::sscanf(text.c_str(), "%ld %lx %lx %lx %lx", &number, &address, &command, &expected,
                  &timeout)
      != 5)
    return false;
  const auto what = command & FUTEX_CMD_MASK;
  return number == SYS_futex && (what == FUTEX_WAIT || what == FUTEX_WAIT_BITSET) && timeout == 0
         && ((command & FUTEX_PRIVATE_FLAG) || is_private(pid, address));
}

std::uint64_t bit(int number) { return 1ull << (number - 1); }

/// Timers announce themselves by these, whatever thread is interrupted.
std::uint64_t timer_signals() {
  auto timers = bit(SIGALRM) | bit(SIGVTALRM) | bit(SIGPROF);
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) timers |= bit(number);
  return timers;
}

/// These say that a child ended, that a descriptor is ready, or what programs agreed on.
std::uint64_t message_signals() {
  return bit(SIGCHLD) | bit(SIGUSR1) | bit(SIGUSR2) | bit(SIGHUP) | bit(SIGIO) | bit(SIGURG)
         | bit(SIGCONT) | bit(SIGWINCH);
}

/// Has the program a handler for one of them? It could do anything.
bool handles(std::int32_t pid, std::uint64_t signals) {
  const auto text = read_text(fmt::format("/proc/{}/status", pid));
  const auto at = text.find("SigCgt:");
  if (at == std::string::npos) return true;
  const auto caught = std::strtoull(text.c_str() + at + std::strlen("SigCgt:"), nullptr, 16);
  return caught & signals;
}

class proc_activity final : public process_activity {
 public:
  sample look(std::int32_t pid) override {
    sample seen;
    DIR* threads = ::opendir(fmt::format("/proc/{}/task", pid).c_str());
    if (!threads) return seen;
    seen.asleep = true;
    std::uint64_t ticks = 0;
    while (auto* entry = ::readdir(threads)) {
      if (entry->d_name[0] == '.') continue;
      thread_line line;
      if (!read_thread(pid, entry->d_name, line)) continue;
      ++seen.threads;
      ticks += line.ticks;
      seen.asleep &= line.state == 'S';
    }
    ::closedir(threads);
    seen.asleep &= seen.threads > 0;
    seen.cpu_ns = exact_cpu_ns(pid);
    if (!seen.cpu_ns)
      seen.cpu_ns = ticks * (1'000'000'000ull / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)));
    return seen;
  }

  bool may_act(std::int32_t pid, const std::vector<std::int32_t>& waiting,
               bool takes_signals) override {
    DIR* threads = ::opendir(fmt::format("/proc/{}/task", pid).c_str());
    if (!threads) return true;
    bool acts = false;
    while (auto* entry = ::readdir(threads)) {
      if (entry->d_name[0] == '.') continue;
      const auto thread = static_cast<std::int32_t>(std::atoi(entry->d_name));
      if (std::find(waiting.begin(), waiting.end(), thread) != waiting.end()) continue;
      acts |= !waits_for_thread(pid, entry->d_name);
    }
    ::closedir(threads);
    return acts || handles(pid, timer_signals() | (takes_signals ? message_signals() : 0));
  }
};

}  // namespace

std::unique_ptr<process_activity> make_proc_activity() { return std::make_unique<proc_activity>(); }

}  // namespace troupe
