// memory_calls: device memory by the process's accounts, for the calls that allocate in order of a
// stream too.
#pragma once

#include "interpose/cudart/runtime.hpp"

namespace troupe {

/// cudaErrorMemoryAllocation when the device is full.
cudaError_t allocate_on_device(device_runtime& rt, device_state& on, void** at, std::size_t size);
/// False: not the beginning of an allocation.
bool free_on_device(device_runtime& rt, void* at);

}  // namespace troupe
