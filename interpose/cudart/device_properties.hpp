// device_properties: a profile as CUDA's structure and its attributes.
#pragma once

#include <cuda_runtime_api.h>

#include "interpose/cudart/device_profile.hpp"

namespace troupe {

cudaDeviceProp properties_of(const device_profile& profile, int host_ordinal);
/// cudaErrorInvalidValue: no attribute of that number.
cudaError_t attribute_of(const device_profile& profile, int host_ordinal, cudaDeviceAttr which,
                         int& value);
/// "0000:19:00.0": devices have buses of their own.
int pci_bus_of(int host_ordinal);

}  // namespace troupe
