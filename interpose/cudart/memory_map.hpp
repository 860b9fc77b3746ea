// memory_map: what the memory at an address is to CUDA: a device's, pinned, managed, or the
// program's own.
//
// Ranges do not overlap. Thread-safe. Not here: who backs them (device_memory.hpp, the runtime).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace troupe {

enum class memory_kind : std::uint8_t {
  device,
  pinned,      ///< host memory that CUDA allocated
  registered,  ///< the program's own, pinned afterwards
  managed,
};

struct memory_range {
  std::byte* base{};
  std::uint64_t size{};
  memory_kind kind{};
  int device{};      ///< that it belongs to, or that was current when it was allocated
  unsigned flags{};  ///< what the program gave
};

class memory_map {
 public:
  /// False when it overlaps another one.
  bool add(const memory_range& range) {
    const std::lock_guard hold(lock_);
    const auto next = ranges_.lower_bound(range.base);
    if (next != ranges_.end() && next->first < range.base + range.size) return false;
    if (next != ranges_.begin()) {
      const auto& before = std::prev(next)->second;
      if (before.base + before.size > range.base) return false;
    }
    ranges_.emplace_hint(next, range.base, range);
    return true;
  }
  /// The range that begins here, which is then forgotten; only of this kind.
  std::optional<memory_range> take(const void* base, memory_kind kind) {
    const std::lock_guard hold(lock_);
    const auto found = ranges_.find(as_address(base));
    if (found == ranges_.end() || found->second.kind != kind) return std::nullopt;
    const auto range = found->second;
    ranges_.erase(found);
    return range;
  }
  /// The range that the address lies in; nothing: the program's own memory.
  std::optional<memory_range> find(const void* address) const {
    const std::lock_guard hold(lock_);
    auto* const at = as_address(address);
    const auto next = ranges_.upper_bound(at);
    if (next == ranges_.begin()) return std::nullopt;
    const auto& range = std::prev(next)->second;
    if (at >= range.base + range.size) return std::nullopt;
    return range;
  }

 private:
  static std::byte* as_address(const void* address) {
    return const_cast<std::byte*>(static_cast<const std::byte*>(address));
  }
  mutable std::mutex lock_;
  std::map<std::byte*, memory_range> ranges_;
};

}  // namespace troupe
