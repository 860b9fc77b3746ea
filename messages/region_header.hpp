// region_header: words that two processes share: the 64 bytes before every payload region of a
// pool, the page of a rank, and the clock of the run.
//
// A region belongs to the rank that leased the extent around it. It is free for reuse when state is
// 0:
//   the owner sets `posted` before it sends the issue frame; whoever resolves the operation
//   replaces it by the number of readers the result in this region has (0: none), before it sends
//   the first completion; each reader subtracts 1 once it has copied, per piece. A piece names its
//   region's header (region::header), being often only a slice of it.
// An extent (the answer to a lease) is raw memory: the client lays headers and payloads into it
// itself.
#pragma once

#include <atomic>
#include <cstdint>

namespace troupe {

struct alignas(64) region_header {
  static constexpr std::uint32_t posted = 0x80000000u;
  std::atomic<std::uint32_t> state;
};
static_assert(sizeof(region_header) == 64);

/// In pool 0, one a rank, from offset 0.
struct alignas(64) rank_page {
  /// 1: the rank holds a slot. Troupe writes it; a client that finds 0 when a program calls it
  /// takes a slot first.
  std::atomic<std::uint32_t> holds_slot;
  /// 1: the rank keeps the words below, of what its tensors hold on the CPU; nobody else writes
  /// them.
  std::atomic<std::uint32_t> counts_tensors;
  std::atomic<std::uint64_t> tensor_peak_bytes;
  /// The last allocation beyond its capacity, and what was held then; 0: there was none.
  std::atomic<std::uint64_t> refused_bytes, held_at_refusal_bytes;
  /// Not 0: all its threads that call us wait, some of them for other threads of the process.
  /// Another number each time.
  std::atomic<std::uint32_t> parked;
  /// The most that allocations held of one device (host_device.md), and what of that device's pages
  /// no allocation lay in then; 0: nothing was allocated on a device.
  std::atomic<std::uint64_t> device_peak_bytes, device_fragmented_bytes;
};
static_assert(sizeof(rank_page) == 64);

/// In pool 0, behind the ranks' pages. Rank time, by which timeouts of programs count: it stands
/// still while some rank wants a slot and has none, so that no rank times out because others have
/// not had their turn. One writer (Troupe); times are CLOCK_MONOTONIC's.
class alignas(64) run_clock {
 public:
  void stop(std::uint64_t now_ns) { change(stopped_ns_.load(std::memory_order_relaxed), now_ns); }
  void go_on(std::uint64_t now_ns) {
    change(stopped_ns_.load(std::memory_order_relaxed) + now_ns
               - since_ns_.load(std::memory_order_relaxed),
           0);
  }
  bool is_stopped() const { return since_ns_.load(std::memory_order_relaxed) != 0; }

  /// Rank time at the time that now_ns() tells.
  template <class Now>
  std::uint64_t rank_time_ns(Now now_ns) const {
    for (;;) {
      const auto before = changes_.load(std::memory_order_acquire);
      const auto stopped = stopped_ns_.load(std::memory_order_relaxed);
      const auto since = since_ns_.load(std::memory_order_relaxed);
      const std::uint64_t now = now_ns();
      std::atomic_thread_fence(std::memory_order_acquire);
      if (before % 2 == 0 && changes_.load(std::memory_order_relaxed) == before)
        return (since ? since : now) - stopped;
    }
  }

 private:
  void change(std::uint64_t stopped_ns, std::uint64_t since_ns) {
    const auto count = changes_.load(std::memory_order_relaxed);
    changes_.store(count + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    stopped_ns_.store(stopped_ns, std::memory_order_relaxed);
    since_ns_.store(since_ns, std::memory_order_relaxed);
    changes_.store(count + 2, std::memory_order_release);
  }

  std::atomic<std::uint64_t> changes_;                // odd while one is made
  std::atomic<std::uint64_t> stopped_ns_, since_ns_;  // so far, before; 0: it runs
};
static_assert(sizeof(run_clock) == 64 && sizeof(run_clock) == sizeof(rank_page));

}  // namespace troupe
