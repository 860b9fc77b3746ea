// device_calls: cudart's calls about devices.
#include <cstdio>
#include <cstring>

#include "interpose/cudart/device_properties.hpp"
#include "interpose/cudart/runtime.hpp"

using namespace troupe;

namespace {

/// Limits that can be set are kept, and mean nothing to a host device.
std::size_t limits[] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0};

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  if (!count) return answer(cudaErrorInvalidValue);
  *count = 0;
  TROUPE_RUNTIME(rt);
  *count = rt.device_count();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  TROUPE_RUNTIME(rt);
  if (!rt.has_device(device)) return answer(cudaErrorInvalidDevice);
  this_thread().device = device;
  return cudaSuccess;
}
cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  TROUPE_RUNTIME(rt);
  return rt.has_device(device) ? cudaSuccess : answer(cudaErrorInvalidDevice);
}

cudaError_t cudaGetDevice(int* device) {
  TROUPE_RUNTIME(rt);
  if (!device) return answer(cudaErrorInvalidValue);
  *device = rt.current().ordinal;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* all, int device) {
  TROUPE_RUNTIME(rt);
  if (!all) return answer(cudaErrorInvalidValue);
  if (!rt.has_device(device)) return answer(cudaErrorInvalidDevice);
  *all = properties_of(rt.profile(), rt.device(device).host_ordinal);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
  TROUPE_RUNTIME(rt);
  if (!value) return answer(cudaErrorInvalidValue);
  if (!rt.has_device(device)) return answer(cudaErrorInvalidDevice);
  return answer(attribute_of(rt.profile(), rt.device(device).host_ordinal, which, *value));
}

cudaError_t cudaDeviceSynchronize() {
  TROUPE_RUNTIME(rt);
  return answer(rt.synchronize(rt.current()));
}

/// What the program has left allocated stays: its addresses may still be held elsewhere.
cudaError_t cudaDeviceReset() {
  TROUPE_RUNTIME(rt);
  return answer(rt.synchronize(rt.current()));
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  TROUPE_RUNTIME(rt);
  if (!flags) return answer(cudaErrorInvalidValue);
  *flags = rt.current().flags | cudaDeviceMapHost;
  return cudaSuccess;
}
cudaError_t cudaSetDeviceFlags(unsigned flags) {
  TROUPE_RUNTIME(rt);
  if (flags & ~static_cast<unsigned>(cudaDeviceMask)) return answer(cudaErrorInvalidValue);
  rt.current().flags = flags;
  return cudaSuccess;
}
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted) {
  TROUPE_RUNTIME(rt);
  if (!device || !wanted) return answer(cudaErrorInvalidValue);
  *device = 0;  // they are all alike
  return cudaSuccess;
}
cudaError_t cudaSetValidDevices(int* devices, int count) {
  TROUPE_RUNTIME(rt);
  for (int n = 0; n < count; ++n)
    if (!devices || !rt.has_device(devices[n])) return answer(cudaErrorInvalidDevice);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit which) {
  TROUPE_RUNTIME(rt);
  if (!value || which < 0 || which >= std::size(limits)) return answer(cudaErrorUnsupportedLimit);
  *value = limits[which];
  return cudaSuccess;
}
cudaError_t cudaDeviceSetLimit(cudaLimit which, std::size_t value) {
  TROUPE_RUNTIME(rt);
  if (which < 0 || which >= std::size(limits)) return answer(cudaErrorUnsupportedLimit);
  limits[which] = value;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  if (!config) return answer(cudaErrorInvalidValue);
  *config = cudaFuncCachePreferNone;
  return cudaSuccess;
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  TROUPE_RUNTIME(rt);
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  TROUPE_RUNTIME(rt);
  if (!text || length < 13) return answer(cudaErrorInvalidValue);
  if (!rt.has_device(device)) return answer(cudaErrorInvalidDevice);
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02X:00.0",
                static_cast<unsigned>(pci_bus_of(rt.device(device).host_ordinal)) & 0xff);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  TROUPE_RUNTIME(rt);
  if (!device || !text) return answer(cudaErrorInvalidValue);
  unsigned domain = 0, bus = 0, slot = 0;
  if (std::sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3
      && std::sscanf(text, "%x:%x", &bus, &slot) != 2)
    return answer(cudaErrorInvalidValue);
  for (int n = 0; n < rt.device_count(); ++n)
    if (pci_bus_of(rt.device(n).host_ordinal) == static_cast<int>(bus)) {
      *device = n;
      return cudaSuccess;
    }
  return answer(cudaErrorInvalidDevice);
}

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                            cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

// Devices of a host reach each other; addresses are one space.

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  TROUPE_RUNTIME(rt);
  if (!can) return answer(cudaErrorInvalidValue);
  if (!rt.has_device(device) || !rt.has_device(peer)) return answer(cudaErrorInvalidDevice);
  *can = device != peer;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  TROUPE_RUNTIME(rt);
  if (flags != 0) return answer(cudaErrorInvalidValue);
  if (!rt.has_device(peer) || peer == rt.current().ordinal) return answer(cudaErrorInvalidDevice);
  const std::lock_guard hold(rt.lock);
  return rt.current().peers.insert(peer).second ? cudaSuccess
                                                : answer(cudaErrorPeerAccessAlreadyEnabled);
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  TROUPE_RUNTIME(rt);
  if (!rt.has_device(peer)) return answer(cudaErrorInvalidDevice);
  const std::lock_guard hold(rt.lock);
  return rt.current().peers.erase(peer) ? cudaSuccess : answer(cudaErrorPeerAccessNotEnabled);
}
cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr which, int device, int peer) {
  TROUPE_RUNTIME(rt);
  if (!value) return answer(cudaErrorInvalidValue);
  if (!rt.has_device(device) || !rt.has_device(peer) || device == peer)
    return answer(cudaErrorInvalidDevice);
  *value = which == cudaDevP2PAttrAccessSupported || which == cudaDevP2PAttrNativeAtomicSupported;
  return cudaSuccess;
}

}  // extern "C"
