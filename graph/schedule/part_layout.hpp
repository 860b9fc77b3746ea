// part_layout: how a vector of elements is cut into one part a member, in member order.
//
// Even: parts differ by one element at most, the larger ones first. Given: any counts, 0 included.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

class part_layout {
 public:
  part_layout() = default;
  part_layout(std::uint64_t total, std::uint32_t parts) : parts_(parts), total_(total) {}
  /// Their sum fits 64 bits. Copies of a layout share the counts.
  static part_layout of(std::span<const std::uint64_t> counts) {
    auto begins = std::make_shared<std::vector<std::uint64_t>>(1, 0);
    for (const auto count : counts) begins->push_back(begins->back() + count);
    part_layout made(begins->back(), static_cast<std::uint32_t>(counts.size()));
    made.begins_ = std::move(begins);
    return made;
  }

  std::uint32_t parts() const { return parts_; }
  std::uint64_t total() const { return total_; }
  bool is_even() const { return begins_ == nullptr; }
  bool is_uniform() const { return is_even() && (parts_ == 0 || total_ % parts_ == 0); }
  /// The part's first element; of `parts()`: the total.
  std::uint64_t begin(std::uint32_t part) const {
    if (begins_ != nullptr) return (*begins_)[part];
    return parts_ == 0 ? 0
                       : part * (total_ / parts_) + std::min<std::uint64_t>(part, total_ % parts_);
  }
  std::uint64_t count(std::uint32_t part) const { return begin(part + 1) - begin(part); }

 private:
  std::uint32_t parts_ = 0;
  std::uint64_t total_ = 0;
  std::shared_ptr<const std::vector<std::uint64_t>> begins_;
};

}  // namespace troupe
