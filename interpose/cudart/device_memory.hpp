// device_memory: the memory of one device: where allocations lie and how much of it they hold.
//
// A device hands out pages of 2 MiB. An allocation of a megabyte or more has pages of its own;
// smaller ones share pages, at multiples of 512 bytes, and a page is given back when nothing is in
// it any more. An allocation fails exactly when the pages it needs are not there. Addresses are the
// host's, reserved and not backed: memory that was never touched costs nothing, and what was is
// given back to the machine at release. Thread-safe. Not here: the machine's own limit; what kind
// of memory an address is (memory_map.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "messages/error.hpp"

namespace troupe {

class device_memory {
 public:
  static constexpr std::uint64_t page_bytes = 2 << 20;
  static constexpr std::uint64_t small_bytes_max = (1 << 20) - 1;
  static constexpr std::uint64_t small_alignment = 512;

  /// `reserved` of `total` is in use from the start (contexts).
  device_memory(std::uint64_t total, std::uint64_t reserved);
  device_memory(const device_memory&) = delete;
  ~device_memory();

  /// Zeroed memory, aligned to 512 bytes, of pages of its own to 2 MiB. no_resources: the device
  /// is full, or the machine has no addresses left. `size` is not 0.
  result<void*> allocate(std::uint64_t size);
  /// False when nothing was allocated at exactly this address.
  bool release(void* address);

  std::uint64_t total_bytes() const { return total_; }
  /// In whole pages, as a driver counts it.
  std::uint64_t free_bytes() const;
  /// What allocations asked for: now, and at most.
  std::uint64_t held_bytes() const;
  std::uint64_t peak_bytes() const;
  /// What no allocation lay in of the pages that were in use at the peak.
  std::uint64_t fragmented_at_peak_bytes() const;
  /// Of the pages in use, what no allocation lies in.
  std::uint64_t fragmented_bytes() const;

 private:
  struct shared_page {
    std::map<std::uint64_t, std::uint64_t> gaps;  ///< offset → length
    std::uint64_t used = 0;
  };
  result<std::byte*> map_pages(std::uint64_t pages);
  void unmap_pages(std::byte* at, std::uint64_t pages);
  result<void*> allocate_small(std::uint64_t size);

  const std::uint64_t total_;
  mutable std::mutex lock_;
  std::uint64_t free_pages_;
  std::uint64_t held_ = 0, peak_ = 0, fragmented_at_peak_ = 0, pages_in_use_ = 0;
  std::map<std::byte*, std::uint64_t> allocations_;  ///< address → size asked for
  std::map<std::byte*, shared_page> shared_;
};

}  // namespace troupe
