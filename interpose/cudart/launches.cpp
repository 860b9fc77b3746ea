#include "interpose/cudart/launches.hpp"

#include <atomic>
#include <cstdio>

namespace troupe {
namespace {

void say_once_that_nothing_is_computed(const device_kernel& kernel) {
  static std::atomic<bool> said = false;
  if (said.exchange(true)) return;
  std::fprintf(stderr,
               "troupe: the host device has no host function for the kernel %s: it, and others "
               "like it, compute nothing (TROUPE_KERNELS names libraries that have some)\n",
               kernel.name.c_str());
}

bool is_possible(dim3 grid, dim3 block, std::size_t shared_bytes, const device_profile& on) {
  return grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= 0x7fffffff && grid.y <= 65535
         && grid.z <= 65535 && block.x > 0 && block.y > 0 && block.z > 0 && block.x <= 1024
         && block.y <= 1024 && block.z <= 64 && block.x * block.y * block.z <= 1024
         && shared_bytes <= static_cast<std::size_t>(on.shared_bytes_per_block_optin);
}

}  // namespace

cudaError_t make_launch_step(device_runtime& rt, const void* function_or_handle, dim3 grid,
                             dim3 block, void** arguments, std::size_t shared_bytes,
                             plan_step& step) {
  const auto* kernel = rt.kernels.find(function_or_handle);
  if (!kernel) return cudaErrorInvalidDeviceFunction;
  if (!is_possible(grid, block, shared_bytes, rt.profile())) return cudaErrorInvalidConfiguration;
  step.what = plan_step::type::kernel;
  step.content.what = work::kind::computes;
  const auto* host = rt.kernels.host_of(*kernel);
  const troupe_launch launch{{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared_bytes};
  step.content.duration_ns = rt.times.duration_ns(*kernel, launch, host, arguments);
  if (!host) {
    say_once_that_nothing_is_computed(*kernel);
    return cudaSuccess;
  }
  auto copies = std::make_shared<kernel_arguments>(*host, arguments);
  step.content.run = [host, launch, copies](const node_ptr&) {
    host->run(&launch, copies->pointers());
  };
  return cudaSuccess;
}

}  // namespace troupe
