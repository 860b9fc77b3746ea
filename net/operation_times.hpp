// operation_times: when each operation of a schedule had its cpu in a simulation.
#pragma once

#include <vector>

#include "net/span_observer.hpp"

namespace troupe {

class operation_times final : public span_observer {
 public:
  explicit operation_times(std::size_t operations) : start_ns_(operations), end_ns_(operations) {}

  void span(std::uint32_t operation, std::uint64_t start_ns, std::uint64_t end_ns) override {
    start_ns_[operation] = start_ns;
    end_ns_[operation] = end_ns;
  }
  void held_until(std::uint32_t operation, std::uint64_t end_ns) override {
    end_ns_[operation] = end_ns;
  }
  std::uint64_t start_ns(std::uint32_t operation) const { return start_ns_[operation]; }
  std::uint64_t end_ns(std::uint32_t operation) const { return end_ns_[operation]; }

 private:
  std::vector<std::uint64_t> start_ns_, end_ns_;
};

}  // namespace troupe
