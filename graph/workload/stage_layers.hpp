// stage_layers: which layers each pipeline stage has, in how many chunks.
//
// Layers follow each other through the virtual stages 0, 1, …: virtual stage v is chunk v / stages
// of stage v % stages. Without a list they are spread evenly, the first virtual stages having one
// more where they do not divide. A virtual stage of a list may have none.
#pragma once

#include <cstdint>
#include <vector>

#include "messages/error.hpp"

namespace troupe::workload {

class stage_layers {
 public:
  struct range {
    std::uint64_t first{}, count{};
  };

  /// `list`: layers of each virtual stage, or empty. errc::usage says what does not add up.
  static result<stage_layers> spread(std::uint64_t layers, std::uint64_t stages,
                                     std::uint64_t chunks, const std::vector<std::uint64_t>& list);

  std::uint64_t stages() const { return stages_; }
  std::uint64_t chunks() const { return ranges_.size() / stages_; }
  range of(std::uint64_t stage, std::uint64_t chunk) const {
    return ranges_[chunk * stages_ + stage];
  }
  /// Of all its chunks.
  std::uint64_t count_of(std::uint64_t stage) const;

 private:
  std::uint64_t stages_ = 1;
  std::vector<range> ranges_;
};

}  // namespace troupe::workload
