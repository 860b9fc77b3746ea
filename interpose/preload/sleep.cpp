// sleep: nanosleep, clock_nanosleep, usleep and sleep. Above 1 ms the rank gives its slot up
// meanwhile and comes back with it.
//
// libc's own functions call each other inside, so each is interposed. errno and the time left stay
// what libc said.
#include <dlfcn.h>
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "interpose/preload/hooks.hpp"

namespace {

constexpr long long nanoseconds_a_second = 1'000'000'000;
constexpr long long worth_a_slot_ns = 1'000'000;

/// Is the time at least worth_a_slot_ns after the other?
bool is_long(const timespec& until, const timespec& from) {
  const auto seconds = until.tv_sec - from.tv_sec;
  if (seconds > 1) return true;
  return seconds * nanoseconds_a_second + (until.tv_nsec - from.tv_nsec) > worth_a_slot_ns;
}

class sleep_section {
 public:
  explicit sleep_section(bool worth_a_slot) {
    const auto* hooks = worth_a_slot ? troupe::preload::hooks() : nullptr;
    if (hooks && hooks->sleep_begins()) hooks_ = hooks;
  }
  sleep_section(const sleep_section&) = delete;
  ~sleep_section() {
    if (!hooks_) return;
    const int kept = errno;
    hooks_->sleep_ended();
    errno = kept;
  }

 private:
  const troupe_blocking_hooks* hooks_ = nullptr;
};

template <class Function>
Function next(std::atomic<Function>& kept, const char* name) {
  auto function = kept.load(std::memory_order_relaxed);
  if (!function)
    kept.store(function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name)),
               std::memory_order_relaxed);
  return function;
}

}  // namespace

#define TROUPE_INTERPOSED extern "C" __attribute__((visibility("default")))

TROUPE_INTERPOSED int nanosleep(const timespec* time, timespec* left) {
  static std::atomic<decltype(&nanosleep)> real{nullptr};
  const sleep_section section(time && is_long(*time, {}));
  return next(real, "nanosleep")(time, left);
}

TROUPE_INTERPOSED int clock_nanosleep(clockid_t clock, int flags, const timespec* time,
                                      timespec* left) {
  static std::atomic<decltype(&clock_nanosleep)> real{nullptr};
  timespec from{};
  if (flags & TIMER_ABSTIME) clock_gettime(clock, &from);
  const sleep_section section(time && is_long(*time, from));
  return next(real, "clock_nanosleep")(clock, flags, time, left);
}

TROUPE_INTERPOSED int usleep(useconds_t microseconds) {
  static std::atomic<decltype(&usleep)> real{nullptr};
  const sleep_section section(microseconds > worth_a_slot_ns / 1000);
  return next(real, "usleep")(microseconds);
}

TROUPE_INTERPOSED unsigned sleep(unsigned seconds) {
  static std::atomic<decltype(&sleep)> real{nullptr};
  const sleep_section section(seconds > 0);
  return next(real, "sleep")(seconds);
}
