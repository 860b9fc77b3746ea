// device_description: how long work takes on a device, by a roofline: the longer of its floating
// point operations at peak × efficiency and its bytes at the memory's bandwidth.
//
// Efficiency is that of large matrix products, 0.6 unless said: what pipelines, messages and memory
// cost is in the graph and must not be counted twice. Williams, Waterman, Patterson, "Roofline"
// (2009). Not here: kernels' starts, caches, several kernels at once.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "messages/error.hpp"

namespace troupe::workload {

/// Of one kernel.
struct work {
  double flops{}, bytes{};
};

struct device_description {
  std::string name;
  double peak_flops{};        ///< FLOP/s of the model's element type, dense
  double memory_bandwidth{};  ///< bytes/s
  double efficiency = 0.6;    ///< of peak_flops
  bool is_of_16_bits = true;  ///< peak_flops is that of bf16 and f16

  double ns(work what) const {
    return 1e9 * std::max(what.flops / (peak_flops * efficiency), what.bytes / memory_bandwidth);
  }
};

/// Ascending by name. The default is h100.
const std::vector<device_description>& known_devices();
/// errc::usage names those there are.
result<device_description> known_device(const std::string& name);

}  // namespace troupe::workload
