// memory_calls: cudart's calls that allocate and free, and that ask what memory is.
#include <sys/mman.h>

#include <cstring>

#include "interpose/cudart/memory_calls.hpp"
#include "interpose/cudart/run_link.hpp"
#include "interpose/cudart/runtime.hpp"

namespace troupe {

cudaError_t allocate_on_device(device_runtime& rt, device_state& on, void** at, std::size_t size) {
  auto allocated = on.memory.allocate(size);
  if (!allocated) return cudaErrorMemoryAllocation;
  rt.memory.add({static_cast<std::byte*>(*allocated), size, memory_kind::device, on.ordinal, 0});
  *at = *allocated;
  report_device_peak(on.memory.peak_bytes(), on.memory.fragmented_at_peak_bytes());
  return cudaSuccess;
}

bool free_on_device(device_runtime& rt, void* at) {
  const auto range = rt.memory.take(at, memory_kind::device);
  return range && rt.device(range->device).memory.release(at);
}

namespace {

/// Pages of the host, zero until they are touched.
cudaError_t map_host(device_runtime& rt, void** at, std::size_t size, memory_kind kind,
                     unsigned flags) {
  if (!at) return cudaErrorInvalidValue;
  *at = nullptr;
  if (size == 0) return cudaSuccess;
  void* mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return cudaErrorMemoryAllocation;
  rt.memory.add({static_cast<std::byte*>(mapped), size, kind, rt.current().ordinal, flags});
  *at = mapped;
  return cudaSuccess;
}

cudaError_t unmap_host(device_runtime& rt, void* at, memory_kind kind) {
  const auto range = rt.memory.take(at, kind);
  if (!range) return cudaErrorInvalidValue;
  ::munmap(range->base, range->size);
  return cudaSuccess;
}

cudaError_t refused_in_capture(device_runtime& rt) {
  const std::lock_guard hold(rt.lock);
  return rt.refuse_in_capture();
}

/// Frees wait for the device: what is queued may still use the memory.
cudaError_t quiet(device_runtime& rt, const void* at) {
  const auto range = rt.memory.find(at);
  if (!range) return cudaErrorInvalidValue;
  return rt.synchronize(rt.device(range->device));
}

}  // namespace
}  // namespace troupe

using namespace troupe;

extern "C" {

cudaError_t cudaMalloc(void** at, std::size_t size) {
  TROUPE_RUNTIME(rt);
  if (!at) return answer(cudaErrorInvalidValue);
  if (auto refused = refused_in_capture(rt); refused) return answer(refused);
  *at = nullptr;
  return size == 0 ? cudaSuccess : answer(allocate_on_device(rt, rt.current(), at, size));
}

cudaError_t cudaFree(void* at) {
  TROUPE_RUNTIME(rt);
  if (!at) return cudaSuccess;
  if (auto failed = quiet(rt, at); failed) return answer(failed);
  if (free_on_device(rt, at)) return cudaSuccess;
  return answer(unmap_host(rt, at, memory_kind::managed));
}

cudaError_t cudaMallocManaged(void** at, std::size_t size, unsigned flags) {
  TROUPE_RUNTIME(rt);
  if (size == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost))
    return answer(cudaErrorInvalidValue);
  return answer(map_host(rt, at, size, memory_kind::managed, flags));
}

cudaError_t cudaMallocPitch(void** at, std::size_t* pitch, std::size_t width, std::size_t height) {
  TROUPE_RUNTIME(rt);
  if (!at || !pitch) return answer(cudaErrorInvalidValue);
  *pitch = (width + 511) / 512 * 512;
  std::size_t size = 0;
  if (__builtin_mul_overflow(*pitch, height, &size)) return answer(cudaErrorMemoryAllocation);
  return cudaMalloc(at, size);
}
cudaError_t cudaMalloc3D(cudaPitchedPtr* to, cudaExtent extent) {
  if (!to) return answer(cudaErrorInvalidValue);
  std::size_t rows = 0;
  if (__builtin_mul_overflow(extent.height, extent.depth, &rows))
    return answer(cudaErrorMemoryAllocation);
  to->xsize = extent.width;
  to->ysize = extent.height;
  return cudaMallocPitch(&to->ptr, &to->pitch, extent.width, rows);
}

cudaError_t cudaHostAlloc(void** at, std::size_t size, unsigned flags) {
  TROUPE_RUNTIME(rt);
  if (flags & ~7u) return answer(cudaErrorInvalidValue);
  return answer(map_host(rt, at, size, memory_kind::pinned, flags));
}
cudaError_t cudaMallocHost(void** at, std::size_t size) { return cudaHostAlloc(at, size, 0); }

cudaError_t cudaFreeHost(void* at) {
  TROUPE_RUNTIME(rt);
  if (!at) return cudaSuccess;
  if (auto failed = quiet(rt, at); failed) return answer(failed);
  return answer(unmap_host(rt, at, memory_kind::pinned));
}

cudaError_t cudaHostRegister(void* at, std::size_t size, unsigned flags) {
  TROUPE_RUNTIME(rt);
  if (!at || size == 0) return answer(cudaErrorInvalidValue);
  const memory_range range{static_cast<std::byte*>(at), size, memory_kind::registered,
                           rt.current().ordinal, flags};
  return rt.memory.add(range) ? cudaSuccess : answer(cudaErrorHostMemoryAlreadyRegistered);
}
cudaError_t cudaHostUnregister(void* at) {
  TROUPE_RUNTIME(rt);
  return rt.memory.take(at, memory_kind::registered) ? cudaSuccess
                                                     : answer(cudaErrorHostMemoryNotRegistered);
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
  TROUPE_RUNTIME(rt);
  if (!device || flags != 0 || !rt.memory.find(host)) return answer(cudaErrorInvalidValue);
  *device = host;
  return cudaSuccess;
}
cudaError_t cudaHostGetFlags(unsigned* flags, void* at) {
  TROUPE_RUNTIME(rt);
  const auto range = rt.memory.find(at);
  if (!flags || !range || range->kind == memory_kind::device) return answer(cudaErrorInvalidValue);
  *flags = range->flags | cudaHostAllocMapped;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  TROUPE_RUNTIME(rt);
  const auto& memory = rt.current().memory;
  if (free) *free = memory.free_bytes();
  if (total) *total = memory.total_bytes();
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* what, const void* at) {
  TROUPE_RUNTIME(rt);
  if (!what) return answer(cudaErrorInvalidValue);
  const auto range = rt.memory.find(at);
  auto* const address = const_cast<void*>(at);
  *what = {};
  what->device = -2;
  what->type = cudaMemoryTypeUnregistered;
  what->hostPointer = address;
  if (!range) return cudaSuccess;
  what->device = range->device;
  what->devicePointer = address;
  what->type = range->kind == memory_kind::device    ? cudaMemoryTypeDevice
               : range->kind == memory_kind::managed ? cudaMemoryTypeManaged
                                                     : cudaMemoryTypeHost;
  if (range->kind == memory_kind::device) what->hostPointer = nullptr;
  return cudaSuccess;
}

// Where managed memory lies is nothing to a host device.

cudaError_t cudaMemAdvise(const void* at, std::size_t, cudaMemoryAdvise, cudaMemLocation) {
  TROUPE_RUNTIME(rt);
  const auto range = rt.memory.find(at);
  return range && range->kind == memory_kind::managed ? cudaSuccess : answer(cudaErrorInvalidValue);
}
cudaError_t cudaMemPrefetchAsync(const void* at, std::size_t, cudaMemLocation, unsigned flags,
                                 cudaStream_t stream) {
  TROUPE_RUNTIME(rt);
  const auto range = rt.memory.find(at);
  if (!range || range->kind != memory_kind::managed || flags != 0)
    return answer(cudaErrorInvalidValue);
  return answer(rt.queue(stream, {}));
}
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* at, std::size_t, unsigned) {
  TROUPE_RUNTIME(rt);
  if (!rt.memory.find(at)) return answer(cudaErrorInvalidValue);
  return answer(rt.queue(stream, {}));
}

}  // extern "C"
