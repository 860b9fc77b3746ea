// tensor_account: what the tensors of this process hold now, held at most, and may hold.
//
// Thread-safe; without a capacity an allocation costs one addition. The peak of the whole run is
// written where it outlives the process: into the rank's page. Two peaks, since programs reset
// theirs. Not here: memory (counted_allocator.cpp).
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "messages/region_header.hpp"

namespace troupe {

class tensor_account {
 public:
  /// From now on `page` has the peak, until leave_page(). A capacity of 0 is none.
  void open(rank_page& page, std::uint64_t capacity) {
    limit(capacity);
    page_.store(&page, std::memory_order_release);
    raise_page(held());
    page.counts_tensors.store(1, std::memory_order_release);
  }
  /// In a process that is not the rank: nothing is limited, and nobody is told.
  void leave_page() {
    page_.store(nullptr, std::memory_order_relaxed);
    limit(0);
  }
  void limit(std::uint64_t capacity) { capacity_.store(capacity, std::memory_order_relaxed); }

  /// What is held with `size` more; none: that would be beyond the capacity, and nothing changed.
  std::optional<std::uint64_t> take(std::uint64_t size) {
    const auto capacity = this->capacity();
    if (capacity == 0) return held_.fetch_add(size, std::memory_order_relaxed) + size;
    auto before = held();
    do {
      if (size > capacity || before > capacity - size) {
        refuse(size, before);
        return std::nullopt;
      }
    } while (!held_.compare_exchange_weak(before, before + size, std::memory_order_relaxed));
    return before + size;
  }
  /// The memory for what take() answered is there.
  void reached(std::uint64_t held) {
    if (held > peak_.load(std::memory_order_relaxed)) raise_peaks(held);
  }
  void give_back(std::uint64_t size) { held_.fetch_sub(size, std::memory_order_relaxed); }

  std::uint64_t held() const { return held_.load(std::memory_order_relaxed); }
  std::uint64_t peak() const { return peak_.load(std::memory_order_relaxed); }
  std::uint64_t capacity() const { return capacity_.load(std::memory_order_relaxed); }
  std::uint64_t refusals() const { return refusals_.load(std::memory_order_relaxed); }
  /// The program's own peak begins anew; the run's does not.
  void reset_peak() { peak_.store(held(), std::memory_order_relaxed); }

 private:
  static void raise(std::atomic<std::uint64_t>& peak, std::uint64_t held) {
    auto known = peak.load(std::memory_order_relaxed);
    while (held > known && !peak.compare_exchange_weak(known, held, std::memory_order_relaxed)) {
    }
  }
  void raise_page(std::uint64_t held) {
    if (auto* page = page_.load(std::memory_order_acquire)) raise(page->tensor_peak_bytes, held);
  }
  void raise_peaks(std::uint64_t held) {
    raise(peak_, held);
    raise_page(held);
  }
  void refuse(std::uint64_t size, std::uint64_t held) {
    refusals_.fetch_add(1, std::memory_order_relaxed);
    auto* page = page_.load(std::memory_order_acquire);
    if (!page) return;
    page->held_at_refusal_bytes.store(held, std::memory_order_relaxed);
    page->refused_bytes.store(size, std::memory_order_release);
  }

  std::atomic<std::uint64_t> held_{0}, peak_{0}, capacity_{0}, refusals_{0};
  std::atomic<rank_page*> page_{nullptr};
};

}  // namespace troupe
