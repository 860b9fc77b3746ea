// /proc/PID/stat shows the leading thread's state only: every /proc/PID/task/* is read.
#include "actors/proc_activity.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

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
};

}  // namespace

std::unique_ptr<process_activity> make_proc_activity() { return std::make_unique<proc_activity>(); }

}  // namespace troupe
