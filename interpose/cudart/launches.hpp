// launches: a kernel's launch as a step: its host function with copies of its arguments, or a span
// that computes nothing.
#pragma once

#include "interpose/cudart/runtime.hpp"

namespace troupe {

/// cudaErrorInvalidDeviceFunction: no such kernel; cudaErrorInvalidConfiguration.
cudaError_t make_launch_step(device_runtime& rt, const void* function_or_handle, dim3 grid,
                             dim3 block, void** arguments, std::size_t shared_bytes,
                             plan_step& step);

}  // namespace troupe
