#include "interpose/cudart/kernel_registry.hpp"

#include <dlfcn.h>

#include <algorithm>

namespace troupe {

void kernel_registry::supply(const troupe_host_kernel* kernels) {
  const std::lock_guard hold(lock_);
  supplied_.push_back(kernels);
  for (auto& kernel : kernels_)
    if (!kernel.host) kernel.host = host_for(kernel.name);
}

result<void> kernel_registry::load(const std::string& libraries) {
  for (std::size_t begin = 0; begin <= libraries.size();) {
    const auto end = std::min(libraries.find(':', begin), libraries.size());
    const auto name = libraries.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty()) continue;
    void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) return error{errc::bad_input, std::string("TROUPE_KERNELS: ") + ::dlerror()};
    const void* kernels = ::dlsym(library, "troupe_host_kernels");
    if (!kernels)
      return error{errc::bad_input, "TROUPE_KERNELS: " + name + " has no troupe_host_kernels"};
    supply(static_cast<const troupe_host_kernel*>(kernels));
  }
  return {};
}

const device_kernel* kernel_registry::add(const void* host_function, const char* name) {
  const std::lock_guard hold(lock_);
  auto& kernel = kernels_.emplace_back(device_kernel{name, host_for(name), host_function});
  return by_function_[host_function] = &kernel;
}

const device_kernel* kernel_registry::find(const void* function_or_handle) const {
  const std::lock_guard hold(lock_);
  if (auto found = by_function_.find(function_or_handle); found != by_function_.end())
    return found->second;
  for (const auto& kernel : kernels_)
    if (&kernel == function_or_handle) return &kernel;
  return nullptr;
}

const device_kernel* kernel_registry::find_handle(const void* handle) const {
  const std::lock_guard hold(lock_);
  for (const auto& kernel : kernels_)
    if (&kernel == handle) return &kernel;
  return nullptr;
}

const troupe_host_kernel* kernel_registry::host_for(const std::string& name) const {
  for (const auto* list : supplied_)
    for (; list->name; ++list)
      if (name == list->name) return list;
  return nullptr;
}

kernel_arguments::kernel_arguments(const troupe_host_kernel& kernel, void* const* given) {
  for (std::uint32_t n = 0; n < kernel.argument_count; ++n) {
    const auto* from = static_cast<const std::byte*>(given[n]);
    bytes_.emplace_back(from, from + kernel.argument_sizes[n]);
    pointers_.push_back(bytes_.back().data());
  }
}

}  // namespace troupe
