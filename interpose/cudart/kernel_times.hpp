// kernel_times: how long a launch lasts on a device.
//
// By the first that there is: the entry of the profile's table that fits the kernel's name, what
// the function that stands for it says, the profile's time of a kernel. From bytes and operations a
// time is the longer of what memory and processors need for them (S. Williams, A. Waterman, D.
// Patterson: Roofline, CACM 52(4), 2009). Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "interpose/cudart/device_profile.hpp"
#include "interpose/cudart/kernel_registry.hpp"

namespace troupe {

class kernel_times {
 public:
  explicit kernel_times(const device_profile& on) : on_(on) {}

  /// `host` may be nullptr; `arguments` are the launch's.
  std::uint64_t duration_ns(const device_kernel& kernel, const troupe_launch& launch,
                            const troupe_host_kernel* host, void** arguments);
  /// Entries of the table that fit none of these kernels.
  std::vector<std::string> unused(const std::vector<std::string>& kernels) const;

 private:
  const kernel_cost* entry_for(const device_kernel& kernel);
  std::uint64_t roofline_ns(double bytes, double flops, double flops_per_ns) const;

  const device_profile& on_;
  std::mutex lock_;
  std::map<const device_kernel*, const kernel_cost*> entries_;  ///< of kernels launched so far
};

}  // namespace troupe
