#include "interpose/cudart/device_properties.hpp"

#include <cstdio>
#include <cstring>

namespace troupe {

int pci_bus_of(int host_ordinal) { return 0x10 + 8 * host_ordinal; }

cudaDeviceProp properties_of(const device_profile& profile, int host_ordinal) {
  cudaDeviceProp all{};
  std::snprintf(all.name, sizeof all.name, "%s", profile.product_name.c_str());
  std::snprintf(all.uuid.bytes, sizeof all.uuid.bytes, "troupe-%03d", host_ordinal);
  all.totalGlobalMem = profile.memory_bytes;
  all.sharedMemPerBlock = 48 << 10;
  all.regsPerBlock = 65536;
  all.warpSize = 32;
  all.memPitch = 0x7fffffff;
  all.maxThreadsPerBlock = 1024;
  all.maxThreadsDim[0] = all.maxThreadsDim[1] = 1024;
  all.maxThreadsDim[2] = 64;
  all.maxGridSize[0] = 0x7fffffff;
  all.maxGridSize[1] = all.maxGridSize[2] = 65535;
  all.totalConstMem = 65536;
  all.major = profile.major;
  all.minor = profile.minor;
  all.textureAlignment = 512;
  all.texturePitchAlignment = 32;
  all.multiProcessorCount = profile.multiprocessors;
  all.canMapHostMemory = 1;
  all.surfaceAlignment = 512;
  all.concurrentKernels = 1;
  all.ECCEnabled = 1;
  all.pciBusID = pci_bus_of(host_ordinal);
  all.asyncEngineCount = 3;
  all.unifiedAddressing = 1;
  all.memoryBusWidth = profile.memory_bus_bits;
  all.l2CacheSize = profile.l2_bytes;
  all.maxThreadsPerMultiProcessor = 2048;
  all.streamPrioritiesSupported = 1;
  all.globalL1CacheSupported = all.localL1CacheSupported = 1;
  all.sharedMemPerMultiprocessor =
      static_cast<std::size_t>(profile.shared_bytes_per_multiprocessor);
  all.regsPerMultiprocessor = 65536;
  all.managedMemory = 1;
  all.concurrentManagedAccess = 1;
  all.computePreemptionSupported = 1;
  all.canUseHostPointerForRegisteredMem = 1;
  all.cooperativeLaunch = 1;
  all.sharedMemPerBlockOptin = static_cast<std::size_t>(profile.shared_bytes_per_block_optin);
  all.maxBlocksPerMultiProcessor = 32;
  all.reservedSharedMemPerBlock = 1024;
  all.hostRegisterSupported = 1;
  all.memoryPoolsSupported = 1;
  all.clusterLaunch = profile.major >= 9;
  return all;
}

cudaError_t attribute_of(const device_profile& profile, int host_ordinal, cudaDeviceAttr which,
                         int& value) {
  const auto all = properties_of(profile, host_ordinal);
  switch (which) {
#define TROUPE_ATTRIBUTE(name, expression) \
  case cudaDevAttr##name:                  \
    value = static_cast<int>(expression);  \
    return cudaSuccess;
#include "interpose/cudart/device_attributes.def"
#undef TROUPE_ATTRIBUTE
    default:
      value = 0;  // what a host device has none of
      return which > 0 && which < cudaDevAttrMax ? cudaSuccess : cudaErrorInvalidValue;
  }
}

}  // namespace troupe
