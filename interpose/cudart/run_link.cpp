#include "interpose/cudart/run_link.hpp"

#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "interpose/client/troupe_client.h"
#include "messages/error.hpp"
#include "messages/region_header.hpp"

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

void report_device_peak(std::uint64_t bytes, std::uint64_t fragmented_bytes) {
  static std::mutex lock;
  auto* page = static_cast<rank_page*>(troupe_rank_page());
  if (!page) return;
  const std::lock_guard hold(lock);
  if (bytes <= page->device_peak_bytes.load(std::memory_order_relaxed)) return;
  page->device_fragmented_bytes.store(fragmented_bytes, std::memory_order_relaxed);
  page->device_peak_bytes.store(bytes, std::memory_order_release);
}

void report_copy(std::uint64_t bytes, std::uint64_t duration_ns) {
  if (troupe_connected()) troupe_copied(bytes, duration_ns);
}

void let_others_run() {
  if (troupe_connected()) troupe_yield();
}

}  // namespace troupe
