// outbox: frames that wait for the next write, so that a call costs one system call at most.
//
// Order is kept: what was awaited goes out before the frame posted next, each wait with its own
// time: what the rank computes after it comes after the operation, whenever the frame leaves.
#pragma once

#include <cstdint>
#include <vector>

#include "messages/wire_codec.hpp"

namespace troupe {

class outbox {
 public:
  static constexpr std::size_t awaited_max = 1024;  ///< waits kept for the next frame
  static constexpr std::size_t large_bytes =
      64 * 1024;  ///< from here on: write without waiting for more

  void post(const to_troupe::frame& frame) {
    post_awaited();
    append(frame);
  }
  /// Again the operation noted last (a program that polls): no news.
  void note_awaited(operation_id operation, std::uint64_t at_ns) {
    if (!awaited_.empty() && awaited_.back().operations.front() == operation) return;
    awaited_.push_back({{operation}, at_ns});
    if (awaited_.size() >= awaited_max) post_awaited();
  }
  bool is_large() const { return bytes_.size() >= large_bytes; }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  void post_awaited() {
    for (const auto& awaited : awaited_) append(awaited);
    awaited_.clear();
  }
  void append(const to_troupe::frame& frame) {
    const auto encoded = encode(frame);
    bytes_.insert(bytes_.end(), encoded.begin(), encoded.end());
  }

  std::vector<to_troupe::awaited> awaited_;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace troupe
