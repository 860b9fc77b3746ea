#include "interpose/cudart/run_link.hpp"

#include <time.h>

#include <cstdio>
#include <cstdlib>

#include "interpose/client/troupe_client.h"
#include "messages/error.hpp"

namespace troupe {

std::uint64_t device_clock_ns() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000
         + static_cast<std::uint64_t>(now.tv_nsec);
}

void join_run() {
  if (!std::getenv("TROUPE_SOCKET") || troupe_connected()) return;
  if (troupe_connect() != 0) {
    // A helper that a rank starts is no rank, and may still use a device.
    if (std::getenv("TROUPE_RANK_PID")) return;
    std::fprintf(stderr, "troupe: this process cannot take part in the run: %s\n", troupe_error());
    std::_Exit(exit_status(errc::internal));
  }
  std::atexit(troupe_leave);
}

void enter_run() {
  static thread_local bool entered = false;
  if (entered || !troupe_connected()) return;
  entered = true;
  troupe_enter();
}

bool is_first_rank() { return !std::getenv("TROUPE_SOCKET") || troupe_rank() == 0; }

void let_others_run() {
  if (troupe_connected()) troupe_yield();
}

}  // namespace troupe
