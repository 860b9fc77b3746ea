// device_profile: what a GPU is to a program that asks, and how long its work takes: name, memory,
// multiprocessors, clocks, bandwidths, and what is known of kernels. The built-in ones are what the
// makers' data sheets and drivers say.
//
// Not here: profiles as text (device_fields.hpp); how much of the memory is in use
// (device_memory.hpp); a launch's duration (kernel_times.hpp); CUDA's structures
// (device_properties.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// What is known of kernels of a name: a time, or what they move and compute.
struct kernel_cost {
  std::string name;  ///< mangled or demangled, with '*' for any characters
  std::optional<std::uint64_t> time_ns = {};
  double bytes = 0, flops = 0;                        ///< of a launch
  double bytes_per_thread = 0, flops_per_thread = 0;  ///< and of each of its threads
  double flops_per_ns = 0;                            ///< 0: the device's
};

struct device_profile {
  std::string name;          ///< as --device takes it
  std::string product_name;  ///< as the driver says it
  int major, minor;          ///< compute capability
  std::uint64_t memory_bytes;
  /// Of them, what a context without allocations holds.
  std::uint64_t context_bytes;
  int multiprocessors;
  int clock_khz, memory_clock_khz;
  int memory_bus_bits;
  int l2_bytes;
  int shared_bytes_per_multiprocessor, shared_bytes_per_block_optin;
  double memory_bytes_per_ns;             ///< of the device's memory
  double host_bytes_per_ns;               ///< to and from the host, one way
  double flops_per_ns;                    ///< f32, without tensor cores
  std::uint64_t kernel_ns = 5'000;        ///< of a kernel of which nothing is known
  int devices_per_host = 0;               ///< 0: the run's to say
  std::vector<kernel_cost> kernels = {};  ///< the first that fits counts
};

std::span<const device_profile> device_profiles();
/// nullptr: no such profile.
const device_profile* find_device_profile(std::string_view name);
/// "h100, h200, a100, b200", for messages.
std::string device_profile_names();

}  // namespace troupe
