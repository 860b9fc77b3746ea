#include "interpose/cudart/kernel_registry.hpp"

#include <dlfcn.h>

#include <algorithm>

#include "interpose/cudart/name_pattern.hpp"

namespace troupe {

void kernel_registry::supply(const troupe_host_kernel* kernels) {
  const std::lock_guard hold(lock_);
  supplied_.push_back(kernels);
}

result<void> kernel_registry::load(const std::string& libraries) {
  for (std::size_t begin = 0; begin <= libraries.size();) {
    const auto end = std::min(libraries.find(':', begin), libraries.size());
    const auto name = libraries.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty()) continue;
    void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) return error{errc::bad_input, ::dlerror()};
    const void* kernels = ::dlsym(library, "troupe_host_kernels");
    if (!kernels) return error{errc::bad_input, name + " has no troupe_host_kernels"};
    supply(static_cast<const troupe_host_kernel*>(kernels));
  }
  return {};
}

const device_kernel* kernel_registry::add(const void* host_function, const char* name) {
  const std::lock_guard hold(lock_);
  const auto& kernel = kernels_.emplace_back(device_kernel{name, host_function});
  handles_.insert(&kernel);
  return by_function_[host_function] = &kernel;
}

const device_kernel* kernel_registry::find(const void* function_or_handle) const {
  const std::lock_guard hold(lock_);
  if (auto found = by_function_.find(function_or_handle); found != by_function_.end())
    return found->second;
  const auto found = handles_.find(function_or_handle);
  return found == handles_.end() ? nullptr : static_cast<const device_kernel*>(*found);
}

const device_kernel* kernel_registry::find_handle(const void* handle) const {
  const std::lock_guard hold(lock_);
  return handles_.contains(handle) ? static_cast<const device_kernel*>(handle) : nullptr;
}

const troupe_host_kernel* kernel_registry::host_of(const device_kernel& kernel) const {
  const std::lock_guard hold(lock_);
  for (; !kernel.host && kernel.lists_searched < supplied_.size(); ++kernel.lists_searched)
    for (const auto* one = supplied_[kernel.lists_searched]; one->name; ++one)
      if (fits_pattern(kernel.name, one->name)) {
        kernel.host = one;
        break;
      }
  return kernel.host;
}

std::vector<std::string> kernel_registry::names() const {
  const std::lock_guard hold(lock_);
  std::vector<std::string> all;
  for (const auto& kernel : kernels_) all.push_back(kernel.name);
  return all;
}

kernel_arguments::kernel_arguments(const troupe_host_kernel& kernel, void* const* given) {
  for (std::uint32_t n = 0; n < kernel.argument_count; ++n) {
    const auto* from = static_cast<const std::byte*>(given[n]);
    bytes_.emplace_back(from, from + kernel.argument_sizes[n]);
    pointers_.push_back(bytes_.back().data());
  }
}

}  // namespace troupe
