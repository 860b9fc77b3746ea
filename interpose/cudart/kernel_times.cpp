#include "interpose/cudart/kernel_times.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "interpose/cudart/name_pattern.hpp"

namespace troupe {
namespace {

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return text ? text.get() : name;
}

bool fits(const kernel_cost& entry, const std::string& name, const std::string& demangled) {
  return fits_pattern(name, entry.name) || fits_pattern(demangled, entry.name);
}

double threads_of(const troupe_launch& launch) {
  double all = 1;
  for (int n = 0; n < 3; ++n)
    all *= static_cast<double>(launch.grid[n]) * static_cast<double>(launch.block[n]);
  return all;
}

}  // namespace

const kernel_cost* kernel_times::entry_for(const device_kernel& kernel) {
  if (on_.kernels.empty()) return nullptr;
  const std::lock_guard hold(lock_);
  const auto [at, is_new] = entries_.emplace(&kernel, nullptr);
  if (is_new) {
    const auto plain = demangled(kernel.name);
    for (const auto& entry : on_.kernels)
      if (fits(entry, kernel.name, plain)) {
        at->second = &entry;
        break;
      }
  }
  return at->second;
}

std::uint64_t kernel_times::roofline_ns(double bytes, double flops, double flops_per_ns) const {
  constexpr double most = 1e18;
  const auto rate = flops_per_ns > 0 ? flops_per_ns : on_.flops_per_ns;
  return static_cast<std::uint64_t>(
      std::min(std::max(bytes / on_.memory_bytes_per_ns, flops / rate), most));
}

std::uint64_t kernel_times::duration_ns(const device_kernel& kernel, const troupe_launch& launch,
                                        const troupe_host_kernel* host, void** arguments) {
  if (const auto* entry = entry_for(kernel)) {
    if (entry->time_ns) return *entry->time_ns;
    const auto threads = threads_of(launch);
    return roofline_ns(entry->bytes + entry->bytes_per_thread * threads,
                       entry->flops + entry->flops_per_thread * threads, entry->flops_per_ns);
  }
  if (host && host->cost) {
    troupe_cost cost{};
    host->cost(&launch, arguments, &cost);
    if (cost.bytes > 0 || cost.flops > 0) return roofline_ns(cost.bytes, cost.flops, 0);
  }
  return on_.kernel_ns;
}

std::vector<std::string> kernel_times::unused(const std::vector<std::string>& kernels) const {
  std::vector<std::string> plain, none;
  for (const auto& name : kernels) plain.push_back(demangled(name));
  for (const auto& entry : on_.kernels) {
    bool is_used = false;
    for (std::size_t n = 0; n < kernels.size() && !is_used; ++n)
      is_used = fits(entry, kernels[n], plain[n]);
    if (!is_used) none.push_back(entry.name);
  }
  return none;
}

}  // namespace troupe
