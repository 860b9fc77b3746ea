// watched_futures: address ranges of futures, by which a wait in a condition variable is known to
// be for an operation.
//
// A lock of its own, held for a lookup only: it is asked from inside every condition-variable wait
// of the process.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "messages/ids.hpp"

namespace troupe {

class watched_futures {
 public:
  /// The operation that the future was watched for, if it was: the new one takes its place.
  std::optional<operation_id> add(operation_id operation, const void* from, const void* to) {
    const std::lock_guard hold(lock_);
    auto [place, fresh] = ranges_.try_emplace(reinterpret_cast<std::uintptr_t>(from));
    const auto before = place->second.operation;
    place->second = {reinterpret_cast<std::uintptr_t>(to), operation};
    count_.store(ranges_.size(), std::memory_order_release);
    return fresh ? std::nullopt : std::optional(before);
  }
  void remove(operation_id operation) {
    const std::lock_guard hold(lock_);
    std::erase_if(ranges_, [&](const auto& range) { return range.second.operation == operation; });
    count_.store(ranges_.size(), std::memory_order_release);
  }
  std::optional<operation_id> find(const void* address) const {
    if (count_.load(std::memory_order_acquire) == 0) return std::nullopt;
    const std::lock_guard hold(lock_);
    auto after = ranges_.upper_bound(reinterpret_cast<std::uintptr_t>(address));
    if (after == ranges_.begin()) return std::nullopt;
    const auto& [from, range] = *--after;
    if (reinterpret_cast<std::uintptr_t>(address) >= range.to) return std::nullopt;
    return range.operation;
  }

 private:
  struct range {
    std::uintptr_t to{};
    operation_id operation;
  };
  mutable std::mutex lock_;
  std::map<std::uintptr_t, range> ranges_;
  std::atomic<std::size_t> count_ = 0;
};

}  // namespace troupe
