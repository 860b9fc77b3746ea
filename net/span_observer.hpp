// span_observer: hears what a model's cpus are busy with.
#pragma once

#include <cstdint>

namespace troupe {

class span_observer {
 public:
  virtual ~span_observer() = default;
  /// The operation takes its cpu from start to end. Once an operation, in no order of time.
  virtual void span(std::uint32_t operation, std::uint64_t start_ns, std::uint64_t end_ns) = 0;
  /// A send whose span came before ends only now, with its recv, and holds its cpu until then.
  virtual void held_until(std::uint32_t operation, std::uint64_t end_ns) = 0;
};

}  // namespace troupe
