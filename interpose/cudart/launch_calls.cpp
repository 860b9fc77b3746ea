// launch_calls: what nvcc's stubs call to register binaries, kernels and variables, and the calls
// that launch kernels and ask about them.
#include <algorithm>
#include <cstring>
#include <map>
#include <new>

#include "interpose/cudart/copies.hpp"
#include "interpose/cudart/launches.hpp"
#include "interpose/cudart/memory_calls.hpp"

using namespace troupe;

namespace {

struct call_configuration {
  dim3 grid, block;
  std::size_t shared_bytes;
  cudaStream_t stream;
};
thread_local std::vector<call_configuration> configurations;

/// Device variables, by the host's shadow of each. What they begin with lies in code that a host
/// device cannot read: they begin with zeros.
struct device_variable {
  std::size_t size;
  std::map<int, void*> on;  ///< device → its memory, once asked for
};
std::mutex variables_lock;
auto& variables() {
  static auto* all = new std::map<const void*, device_variable>;
  return *all;
}

cudaError_t variable_of(device_runtime& rt, const void* symbol, void** at, std::size_t* size) {
  const std::lock_guard hold(variables_lock);
  const auto found = variables().find(symbol);
  if (found == variables().end()) return cudaErrorInvalidSymbol;
  if (size) *size = found->second.size;
  if (!at) return cudaSuccess;
  auto& mine = found->second.on[rt.current().ordinal];
  if (!mine)
    if (auto failed = allocate_on_device(rt, rt.current(), &mine, found->second.size); failed)
      return failed;
  *at = mine;
  return cudaSuccess;
}

cudaError_t launch(const void* function, dim3 grid, dim3 block, void** arguments,
                   std::size_t shared_bytes, cudaStream_t stream) {
  TROUPE_RUNTIME(rt);
  plan_step step;
  if (auto wrong = make_launch_step(rt, function, grid, block, arguments, shared_bytes, step);
      wrong)
    return answer(wrong);
  return answer(rt.queue(stream, std::move(step)));
}

cudaError_t copy_symbol(const void* symbol, void* host, const void* from_host, std::size_t size,
                        std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream,
                        bool returns_at_once) {
  TROUPE_RUNTIME(rt);
  void* at = nullptr;
  std::size_t whole = 0;
  if (auto failed = variable_of(rt, symbol, &at, &whole); failed) return answer(failed);
  if (offset > whole || size > whole - offset) return answer(cudaErrorInvalidValue);
  auto* const place = static_cast<std::byte*>(at) + offset;
  const copy_rows rows = host ? copy_rows{host, size, place, size, size}
                              : copy_rows{place, size, from_host, size, size};
  return answer(copy(rt, rows, kind, stream, returns_at_once));
}

}  // namespace

extern "C" {

// Registration, before main.

void** __cudaRegisterFatBinary(void* binary) { return new void*(binary); }
void __cudaRegisterFatBinaryEnd(void**) {}
/// Kernels stay: work that is queued may name them.
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }
void __cudaRegisterFunction(void**, const char* host_function, char*, const char* name, int, uint3*,
                            uint3*, dim3*, dim3*, int*) {
  registered_kernels().add(host_function, name);
}
void __cudaRegisterVar(void**, char* shadow, char*, const char*, int, std::size_t size, int, int) {
  const std::lock_guard hold(variables_lock);
  variables()[shadow] = {size, {}};
}
void __cudaRegisterManagedVar(void**, void** shadow, char*, const char*, int, std::size_t size, int,
                              int) {
  *shadow = ::operator new (size, std::align_val_t{256});
  std::memset(*shadow, 0, size);
}
void __cudaRegisterHostVar(void**, const char*, char*, std::size_t) {}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes,
                                     CUstream_st* stream) {
  configurations.push_back({grid, block, shared_bytes, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes,
                                       void* stream) {
  if (configurations.empty()) return answer(cudaErrorMissingConfiguration);
  const auto last = configurations.back();
  configurations.pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared_bytes = last.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  const auto* found = registered_kernels().find(host_function);
  if (!found) return answer(cudaErrorInvalidDeviceFunction);
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<device_kernel*>(found));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared_bytes, cudaStream_t stream) {
  return launch(kernel, grid, block, arguments, shared_bytes, stream);
}

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  return kernel ? __cudaGetKernel(kernel, host_function) : answer(cudaErrorInvalidValue);
}
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             std::size_t shared_bytes, cudaStream_t stream) {
  return launch(function, grid, block, arguments, shared_bytes, stream);
}
cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block,
                                        void** arguments, std::size_t shared_bytes,
                                        cudaStream_t stream) {
  return launch(function, grid, block, arguments, shared_bytes, stream);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* how, const void* function,
                                void** arguments) {
  if (!how) return answer(cudaErrorInvalidValue);
  return launch(function, how->gridDim, how->blockDim, arguments, how->dynamicSmemBytes,
                how->stream);
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  TROUPE_RUNTIME(rt);
  const auto* kernel = rt.kernels.find(function);
  if (!name || !kernel)
    return answer(name ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue);
  *name = kernel->name.c_str();
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* all, const void* function) {
  TROUPE_RUNTIME(rt);
  if (!all) return answer(cudaErrorInvalidValue);
  if (!rt.kernels.find(function)) return answer(cudaErrorInvalidDeviceFunction);
  *all = {};
  all->maxThreadsPerBlock = 1024;
  all->numRegs = 32;
  all->ptxVersion = all->binaryVersion = rt.profile().major * 10 + rt.profile().minor;
  all->maxDynamicSharedSizeBytes = rt.profile().shared_bytes_per_block_optin;
  all->preferredShmemCarveout = -1;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute, int) {
  TROUPE_RUNTIME(rt);
  return rt.kernels.find(function) ? cudaSuccess : answer(cudaErrorInvalidDeviceFunction);
}
cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache) {
  TROUPE_RUNTIME(rt);
  return rt.kernels.find(function) ? cudaSuccess : answer(cudaErrorInvalidDeviceFunction);
}
/// By threads alone: registers and shared memory of a kernel are not known.
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                   const void* function,
                                                                   int block_size, std::size_t,
                                                                   unsigned) {
  TROUPE_RUNTIME(rt);
  if (!blocks || block_size <= 0) return answer(cudaErrorInvalidValue);
  if (!rt.kernels.find(function)) return answer(cudaErrorInvalidDeviceFunction);
  *blocks = block_size > 1024 ? 0 : std::min(2048 / block_size, 32);
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                          int block_size, std::size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size,
                                                                shared, 0);
}

// Variables of the device.

cudaError_t cudaGetSymbolAddress(void** at, const void* symbol) {
  TROUPE_RUNTIME(rt);
  return at ? answer(variable_of(rt, symbol, at, nullptr)) : answer(cudaErrorInvalidValue);
}
cudaError_t cudaGetSymbolSize(std::size_t* size, const void* symbol) {
  TROUPE_RUNTIME(rt);
  return size ? answer(variable_of(rt, symbol, nullptr, size)) : answer(cudaErrorInvalidValue);
}
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t size,
                               std::size_t offset, cudaMemcpyKind kind) {
  return copy_symbol(symbol, nullptr, from, size, offset, kind, nullptr, false);
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t size,
                                    std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_symbol(symbol, nullptr, from, size, offset, kind, stream, true);
}
cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t size, std::size_t offset,
                                 cudaMemcpyKind kind) {
  return copy_symbol(symbol, to, nullptr, size, offset, kind, nullptr, false);
}
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t size,
                                      std::size_t offset, cudaMemcpyKind kind,
                                      cudaStream_t stream) {
  return copy_symbol(symbol, to, nullptr, size, offset, kind, stream, true);
}

}  // extern "C"
