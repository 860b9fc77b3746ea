// pool_calls: cudart's calls that allocate and free in order of a stream.
//
// An allocation is there at once; a free gives the memory back when the stream gets to it. When a
// device is full, what its streams are about to free is waited for first. Pools keep nothing back:
// their threshold is kept and means nothing.
#include <algorithm>
#include <map>
#include <memory>

#include "interpose/cudart/memory_calls.hpp"
#include "interpose/cudart/runtime.hpp"

using namespace troupe;

namespace {

struct memory_pool {
  int device;
  std::uint64_t threshold = 0, used = 0, used_high = 0;
  bool is_default = false;
};

std::mutex lock;
auto& pools() {
  static auto* all = new std::map<memory_pool*, std::unique_ptr<memory_pool>>;
  return *all;
}
/// Allocation → its pool and size.
auto& allocations() {
  static auto* all = new std::map<void*, std::pair<memory_pool*, std::uint64_t>>;
  return *all;
}
auto& currents() {  // by device
  static auto* all = new std::map<int, memory_pool*>;
  return *all;
}

memory_pool* make_pool(int device, bool is_default) {
  auto made = std::make_unique<memory_pool>();
  made->device = device;
  made->is_default = is_default;
  auto* const at = made.get();
  pools()[at] = std::move(made);
  return at;
}

memory_pool* default_of(int device) {
  for (auto& [at, pool] : pools())
    if (pool->is_default && pool->device == device) return at;
  return make_pool(device, true);
}

memory_pool* current_of(int device) {
  auto& current = currents()[device];
  return current ? current : current = default_of(device);
}

memory_pool* known(cudaMemPool_t handle) {
  auto* const at = reinterpret_cast<memory_pool*>(handle);
  return pools().contains(at) ? at : nullptr;
}
cudaMemPool_t handle_of(memory_pool* pool) { return reinterpret_cast<cudaMemPool_t>(pool); }

/// nullptr pool: the current one of the stream's device.
cudaError_t allocate(void** at, std::size_t size, memory_pool* from, cudaStream_t handle) {
  TROUPE_RUNTIME(rt);
  if (!at) return answer(cudaErrorInvalidValue);
  *at = nullptr;
  int device = 0;
  {
    const std::lock_guard hold(rt.lock);
    const auto* stream = rt.stream(handle);
    if (!stream) return answer(cudaErrorInvalidResourceHandle);
    if (stream->capture) {
      stream->capture->spoil();
      return not_supported("cudaMallocAsync on a captured stream");
    }
    device = stream->device;
  }
  if (size == 0) return cudaSuccess;
  const std::lock_guard hold(lock);
  auto& pool = from ? *from : *current_of(device);
  auto& on = rt.device(pool.device);
  auto failed = allocate_on_device(rt, on, at, size);
  if (failed && rt.synchronize(on) == cudaSuccess) failed = allocate_on_device(rt, on, at, size);
  if (failed) return answer(failed);
  allocations()[*at] = {&pool, size};
  pool.used_high = std::max(pool.used_high, pool.used += size);
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaMallocAsync(void** at, std::size_t size, cudaStream_t stream) {
  return allocate(at, size, nullptr, stream);
}
cudaError_t cudaMallocFromPoolAsync(void** at, std::size_t size, cudaMemPool_t handle,
                                    cudaStream_t stream) {
  memory_pool* pool = nullptr;
  {
    const std::lock_guard hold(lock);
    pool = known(handle);
  }
  return pool ? allocate(at, size, pool, stream) : answer(cudaErrorInvalidValue);
}

cudaError_t cudaFreeAsync(void* at, cudaStream_t stream) {
  TROUPE_RUNTIME(rt);
  if (!at) return cudaSuccess;
  const auto range = rt.memory.find(at);
  if (!range || range->base != at || range->kind != memory_kind::device)
    return answer(cudaErrorInvalidValue);
  {
    const std::lock_guard hold(lock);
    if (const auto found = allocations().extract(at); !found.empty())
      found.mapped().first->used -= found.mapped().second;
  }
  plan_step step;
  step.content = {work::kind::computes, 0, [&rt, at](const node_ptr&) { free_on_device(rt, at); }};
  return answer(rt.queue(stream, std::move(step)));
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  TROUPE_RUNTIME(rt);
  if (!pool) return answer(cudaErrorInvalidValue);
  if (!rt.has_device(device)) return answer(cudaErrorInvalidDevice);
  const std::lock_guard hold(lock);
  *pool = handle_of(default_of(device));
  return cudaSuccess;
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  TROUPE_RUNTIME(rt);
  if (!pool) return answer(cudaErrorInvalidValue);
  if (!rt.has_device(device)) return answer(cudaErrorInvalidDevice);
  const std::lock_guard hold(lock);
  *pool = handle_of(current_of(device));
  return cudaSuccess;
}
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  TROUPE_RUNTIME(rt);
  if (!rt.has_device(device)) return answer(cudaErrorInvalidDevice);
  const std::lock_guard hold(lock);
  if (!known(pool) || known(pool)->device != device) return answer(cudaErrorInvalidValue);
  currents()[device] = known(pool);
  return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* wanted) {
  TROUPE_RUNTIME(rt);
  if (!pool || !wanted || wanted->allocType != cudaMemAllocationTypePinned
      || wanted->location.type != cudaMemLocationTypeDevice)
    return answer(cudaErrorInvalidValue);
  if (wanted->handleTypes != cudaMemHandleTypeNone)
    return not_supported("cudaMemPoolCreate of pools that are shared");
  if (!rt.has_device(wanted->location.id)) return answer(cudaErrorInvalidDevice);
  const std::lock_guard hold(lock);
  *pool = handle_of(make_pool(wanted->location.id, false));
  return cudaSuccess;
}
/// Its allocations stay what they are, and belong to the default pool.
cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle) {
  const std::lock_guard hold(lock);
  auto* const pool = known(handle);
  if (!pool || pool->is_default) return answer(cudaErrorInvalidValue);
  auto* const heir = default_of(pool->device);
  for (auto& [at, of] : allocations())
    if (of.first == pool) of.first = heir, heir->used += of.second;
  for (auto& [device, current] : currents())
    if (current == pool) current = nullptr;
  pools().erase(pool);
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t handle, std::size_t) {
  const std::lock_guard hold(lock);
  return known(handle) ? cudaSuccess : answer(cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr which, void* value) {
  const std::lock_guard hold(lock);
  const auto* pool = known(handle);
  if (!pool || !value) return answer(cudaErrorInvalidValue);
  auto* const number = static_cast<std::uint64_t*>(value);
  switch (which) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
      *static_cast<int*>(value) = 1;
      return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold:
      *number = pool->threshold;
      return cudaSuccess;
    case cudaMemPoolAttrReservedMemCurrent:
    case cudaMemPoolAttrUsedMemCurrent:
      *number = pool->used;
      return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
    case cudaMemPoolAttrUsedMemHigh:
      *number = pool->used_high;
      return cudaSuccess;
    default:
      return answer(cudaErrorInvalidValue);
  }
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr which, void* value) {
  const std::lock_guard hold(lock);
  auto* const pool = known(handle);
  if (!pool || !value) return answer(cudaErrorInvalidValue);
  switch (which) {
    case cudaMemPoolAttrReleaseThreshold:
      pool->threshold = *static_cast<std::uint64_t*>(value);
      return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
    case cudaMemPoolAttrUsedMemHigh:
      pool->used_high = pool->used;
      return cudaSuccess;
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
      return cudaSuccess;
    default:
      return answer(cudaErrorInvalidValue);
  }
}
/// Devices reach all memory.
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t handle, const cudaMemAccessDesc* list,
                                 std::size_t count) {
  const std::lock_guard hold(lock);
  return known(handle) && (list || count == 0) ? cudaSuccess : answer(cudaErrorInvalidValue);
}
cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t handle,
                                 cudaMemLocation* location) {
  const std::lock_guard hold(lock);
  if (!known(handle) || !flags || !location) return answer(cudaErrorInvalidValue);
  *flags = cudaMemAccessFlagsProtReadWrite;
  return cudaSuccess;
}

}  // extern "C"
