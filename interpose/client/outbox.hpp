// outbox: frames that wait for the next write, so that a call costs one system call at most.
//
// Order is kept: what was awaited goes out before the frame posted next.
#pragma once

#include <cstdint>
#include <vector>

#include "messages/wire_codec.hpp"

namespace troupe {

class outbox {
 public:
  static constexpr std::size_t awaited_max = 1024;  ///< operations in one frame
  static constexpr std::size_t large_bytes =
      64 * 1024;  ///< from here on: write without waiting for more

  void post(const to_troupe::frame& frame, std::uint64_t at_ns) {
    post_awaited(at_ns);
    append(frame);
  }
  void note_awaited(operation_id operation, std::uint64_t at_ns) {
    awaited_.push_back(operation);
    if (awaited_.size() >= awaited_max) post_awaited(at_ns);
  }
  void post_awaited(std::uint64_t at_ns) {
    if (awaited_.empty()) return;
    append(to_troupe::awaited{std::move(awaited_), at_ns});
    awaited_.clear();
  }
  bool is_large() const { return bytes_.size() >= large_bytes; }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  void append(const to_troupe::frame& frame) {
    const auto encoded = encode(frame);
    bytes_.insert(bytes_.end(), encoded.begin(), encoded.end());
  }

  std::vector<operation_id> awaited_;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace troupe
