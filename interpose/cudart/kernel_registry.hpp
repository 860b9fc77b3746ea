// kernel_registry: the kernels that a program registers, and the host functions that stand for
// them.
//
// A kernel is found by the host function that nvcc makes for it, or by its handle. Thread-safe;
// used before main. Not here: launches (launch_calls.cpp).
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "interpose/cudart/troupe_kernel.h"
#include "messages/error.hpp"

namespace troupe {

struct device_kernel {
  std::string name;  ///< mangled
  const void* host_function = nullptr;
  /// The registry's own: what host_of has found, in how many of its lists.
  mutable const troupe_host_kernel* host = nullptr;
  mutable std::size_t lists_searched = 0;
};

class kernel_registry {
 public:
  /// Host functions for kernels registered so far and later; the array must last.
  void supply(const troupe_host_kernel* kernels);
  /// Loads the libraries that the list names ("a.so:b.so").
  result<void> load(const std::string& libraries);

  const device_kernel* add(const void* host_function, const char* name);
  const device_kernel* find(const void* function_or_handle) const;
  /// Like find, but of handles only.
  const device_kernel* find_handle(const void* handle) const;
  /// The function that stands for the kernel; of several, the one that was supplied first. nullptr:
  /// it computes nothing. Looked for at the first launch: programs register more than they use.
  const troupe_host_kernel* host_of(const device_kernel& kernel) const;
  /// All that are registered.
  std::vector<std::string> names() const;

 private:
  mutable std::mutex lock_;
  std::list<device_kernel> kernels_;  // addresses are handles
  std::set<const void*> handles_;
  std::map<const void*, const device_kernel*> by_function_;
  std::vector<const troupe_host_kernel*> supplied_;
};

/// Copies of a kernel's arguments, which live during the launch call alone.
class kernel_arguments {
 public:
  kernel_arguments(const troupe_host_kernel& kernel, void* const* given);
  void** pointers() { return pointers_.data(); }

 private:
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<void*> pointers_;
};

}  // namespace troupe
