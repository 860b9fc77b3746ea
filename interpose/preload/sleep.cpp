// sleep: nanosleep, clock_nanosleep, usleep and sleep. Above 1 ms the rank gives its slot up
// meanwhile and comes back with it.
//
// libc's own functions call each other inside, so each is interposed. errno and the time left stay
// what libc said.
#include <time.h>
#include <unistd.h>

#include "interpose/preload/interposed.hpp"

namespace {

using troupe::preload::next;
using troupe::preload::sleep_section;

constexpr long long nanoseconds_a_second = 1'000'000'000;
constexpr long long worth_a_slot_ns = 1'000'000;

/// Is the time at least worth_a_slot_ns after the other?
bool is_long(const timespec& until, const timespec& from) {
  const auto seconds = until.tv_sec - from.tv_sec;
  if (seconds > 1) return true;
  return seconds * nanoseconds_a_second + (until.tv_nsec - from.tv_nsec) > worth_a_slot_ns;
}

}  // namespace

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
