// device_profile: what a GPU is to a program that asks: name, memory, multiprocessors, clocks,
// bandwidths. The built-in ones are what the makers' data sheets and drivers say.
//
// Not here: how much of the memory is in use (device_memory.hpp); CUDA's structures
// (device_properties.cpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

struct device_profile {
  const char* name;          ///< as --device takes it
  const char* product_name;  ///< as the driver says it
  int major, minor;          ///< compute capability
  std::uint64_t memory_bytes;
  /// Of them, what a context without allocations holds.
  std::uint64_t context_bytes;
  int multiprocessors;
  int clock_khz, memory_clock_khz;
  int memory_bus_bits;
  int l2_bytes;
  int shared_bytes_per_multiprocessor, shared_bytes_per_block_optin;
  double memory_bytes_per_ns;  ///< of the device's memory
  double host_bytes_per_ns;    ///< to and from the host, one way
};

std::span<const device_profile> device_profiles();
/// nullptr: no such profile.
const device_profile* find_device_profile(std::string_view name);
/// "h100, h200, a100, b200", for messages.
std::string device_profile_names();

}  // namespace troupe
