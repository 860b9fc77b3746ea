// gradient_buckets: gradients, in the order in which they become ready, gathered until they are
// worth a message.
#pragma once

#include <cstdint>
#include <vector>

namespace troupe::workload {

/// A bucket is full with the first gradients that reach `bytes`; a large block's are one bucket.
class gradient_buckets {
 public:
  gradient_buckets(std::uint64_t bytes, std::uint64_t element_bytes)
      : bytes_(bytes), element_bytes_(element_bytes) {}

  /// The elements of the bucket that is full now, or 0.
  std::uint64_t add(std::uint64_t elements) {
    open_ += elements;
    return open_ * element_bytes_ >= bytes_ ? close() : 0;
  }
  /// Those of what is left, or 0.
  std::uint64_t close() {
    const auto elements = open_;
    open_ = 0;
    if (elements > 0) closed_.push_back(elements);
    return elements;
  }
  const std::vector<std::uint64_t>& closed() const { return closed_; }
  std::uint64_t elements() const {
    std::uint64_t sum = open_;
    for (auto each : closed_) sum += each;
    return sum;
  }

 private:
  std::uint64_t bytes_, element_bytes_, open_ = 0;
  std::vector<std::uint64_t> closed_;
};

}  // namespace troupe::workload
