// device: what programs expect of the CUDA runtime, one part an argument. On the host device
// without a run; nothing here needs NCCL.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/programs/cuda/check.hpp"

extern "C" {
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFatBinaryEnd(void**);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*,
                            dim3*, int*);
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int);
}

namespace {

using namespace std::chrono_literals;
constexpr std::size_t MiB = 1 << 20, page = 2 * MiB;

// As nvcc's stubs register them.
void scale_stub() {}
void nameless_stub() {}
int shadow_of_variable[4];
const bool registered = [] {
  void** binary = __cudaRegisterFatBinary(nullptr);
  __cudaRegisterFunction(binary, reinterpret_cast<const char*>(scale_stub), nullptr, "_Z5scalePfif",
                         -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  __cudaRegisterFunction(binary, reinterpret_cast<const char*>(nameless_stub), nullptr,
                         "_Z8namelessv", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  __cudaRegisterVar(binary, reinterpret_cast<char*>(shadow_of_variable), nullptr, "variable", 0,
                    sizeof shadow_of_variable, 0, 1);
  __cudaRegisterFatBinaryEnd(binary);
  return true;
}();

void scale(float* data, int count, float factor, cudaStream_t stream = nullptr) {
  void* arguments[] = {&data, &count, &factor};
  CUDA(cudaLaunchKernel(reinterpret_cast<const void*>(scale_stub), dim3(2), dim3(32), arguments, 0,
                        stream));
}

template <class T>
T* on_device(std::size_t count) {
  void* at = nullptr;
  CUDA(cudaMalloc(&at, count * sizeof(T)));
  return static_cast<T*>(at);
}

/// Holds a stream up until it is let go.
struct gate {
  std::atomic<bool> is_open = false;
  static void wait(void* self) {
    while (!static_cast<gate*>(self)->is_open) std::this_thread::sleep_for(1ms);
  }
  void hold(cudaStream_t stream) { CUDA(cudaLaunchHostFunc(stream, wait, this)); }
};

void properties() {
  int count = 0, value = 0;
  CUDA(cudaGetDeviceCount(&count));
  CHECK(count == 8);
  cudaDeviceProp all;
  CUDA(cudaGetDeviceProperties(&all, 7));
  CHECK(all.name == std::string("NVIDIA H200"));
  CHECK(all.multiProcessorCount == 132 && all.major == 9 && all.minor == 0 && all.warpSize == 32);
  CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 3));
  CHECK(value == 132);
  CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 3));
  CHECK(value == 9);
  CUDA(cudaSetDevice(5));
  CUDA(cudaGetDevice(&value));
  CHECK(value == 5);
  CUDA_REFUSES(cudaSetDevice(8), cudaErrorInvalidDevice);
  CUDA_REFUSES(cudaGetDeviceProperties(&all, -1), cudaErrorInvalidDevice);
  std::size_t free = 0, total = 0;
  CUDA(cudaMemGetInfo(&free, &total));
  CHECK(total == all.totalGlobalMem && free < total);
  CUDA(cudaDeviceCanAccessPeer(&value, 0, 1));
  CHECK(value == 1);
  CUDA(cudaDeviceEnablePeerAccess(1, 0));
  CUDA_REFUSES(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  char bus[20];
  CUDA(cudaDeviceGetPCIBusId(bus, sizeof bus, 5));
  CUDA(cudaDeviceGetByPCIBusId(&value, bus));
  CHECK(value == 5);
  CHECK(std::strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory") == 0);
  CHECK(std::strcmp(cudaGetErrorName(cudaErrorNotReady), "cudaErrorNotReady") == 0);
  CUDA_REFUSES(cudaIpcOpenMemHandle(nullptr, {}, 0), cudaErrorNotSupported);
  // A thread has a device and a last error of its own.
  CHECK(cudaSetDevice(99) == cudaErrorInvalidDevice);
  std::thread([&] {
    int mine = -1;
    CUDA(cudaGetLastError());
    CUDA(cudaGetDevice(&mine));
    CHECK(mine == 0);
  }).join();
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice && cudaGetLastError() == cudaSuccess);
}

void memory() {
  std::size_t free = 0, total = 0, before = 0;
  CUDA(cudaMemGetInfo(&before, &total));
  void* none = nullptr;
  CUDA_REFUSES(cudaMalloc(&none, before + 1), cudaErrorMemoryAllocation);
  CHECK(!none);
  std::vector<void*> all;  // as many pages as there are, and not one more
  for (std::size_t left = before; left > 0;) {
    const auto size = std::min<std::size_t>(left, 512 * page);
    void* at = nullptr;
    CUDA(cudaMalloc(&at, size));
    static_cast<char*>(at)[size - 1] = 1;
    all.push_back(at);
    left -= size;
  }
  CUDA_REFUSES(cudaMalloc(&none, 1), cudaErrorMemoryAllocation);
  CUDA(cudaMemGetInfo(&free, &total));
  CHECK(free == 0);
  for (auto* at : all) CUDA(cudaFree(at));
  CUDA(cudaMemGetInfo(&free, &total));
  CHECK(free == before);
  auto* small = on_device<char>(1);
  CUDA(cudaMemGetInfo(&free, &total));
  CHECK(free == before - page);
  CUDA_REFUSES(cudaFree(small + 1), cudaErrorInvalidValue);
  CUDA(cudaFree(nullptr));
  cudaPointerAttributes what;
  CUDA(cudaPointerGetAttributes(&what, small));
  CHECK(what.type == cudaMemoryTypeDevice && what.device == 0 && what.devicePointer == small);
  void *pinned = nullptr, *managed = nullptr;
  CUDA(cudaHostAlloc(&pinned, 100, cudaHostAllocPortable));
  CUDA(cudaPointerGetAttributes(&what, static_cast<char*>(pinned) + 99));
  CHECK(what.type == cudaMemoryTypeHost);
  CUDA(cudaMallocManaged(&managed, 100, cudaMemAttachGlobal));
  CUDA(cudaPointerGetAttributes(&what, managed));
  CHECK(what.type == cudaMemoryTypeManaged);
  CUDA(cudaPointerGetAttributes(&what, &what));
  CHECK(what.type == cudaMemoryTypeUnregistered && what.device == -2);
  std::vector<char> own(5000);
  CUDA(cudaHostRegister(own.data(), own.size(), 0));
  CUDA_REFUSES(cudaHostRegister(own.data(), 10, 0), cudaErrorHostMemoryAlreadyRegistered);
  CUDA(cudaPointerGetAttributes(&what, own.data()));
  CHECK(what.type == cudaMemoryTypeHost);
  CUDA(cudaHostUnregister(own.data()));
  CUDA_REFUSES(cudaHostUnregister(own.data()), cudaErrorHostMemoryNotRegistered);
  CUDA_REFUSES(cudaFreeHost(managed), cudaErrorInvalidValue);
  CUDA(cudaFreeHost(pinned));
  CUDA(cudaFree(managed));
  // Other devices have their own.
  CUDA(cudaSetDevice(1));
  CUDA(cudaMemGetInfo(&free, &total));
  CHECK(free == before);
}

void copies() {
  std::vector<int> host(1000), back(1000);
  for (int n = 0; n < 1000; ++n) host[static_cast<std::size_t>(n)] = n;
  auto *one = on_device<int>(1000), *other = on_device<int>(1000);
  CUDA(cudaMemcpy(one, host.data(), 4000, cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy(other, one, 4000, cudaMemcpyDeviceToDevice));
  CUDA(cudaMemcpy(back.data(), other, 4000, cudaMemcpyDefault));
  CHECK(back == host);
  CUDA(cudaMemset(other, 0xff, 2000));
  CUDA(cudaMemcpy(back.data(), other, 4000, cudaMemcpyDeviceToHost));
  CHECK(back[499] == -1 && back[500] == 500);
  CUDA_REFUSES(cudaMemcpy(one, host.data(), 4001, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  CUDA_REFUSES(cudaMemcpy(one, host.data(), 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  CUDA_REFUSES(cudaMemcpy(one, host.data(), 4, static_cast<cudaMemcpyKind>(9)),
               cudaErrorInvalidMemcpyDirection);
  CUDA_REFUSES(cudaMemset(host.data(), 0, 4), cudaErrorInvalidValue);
  // A matrix's left half.
  CUDA(cudaMemcpy2D(other, 40, one, 80, 40, 50, cudaMemcpyDeviceToDevice));
  CUDA(cudaMemcpy(back.data(), other, 2000, cudaMemcpyDeviceToHost));
  CHECK(back[9] == 9 && back[10] == 20 && back[499] == 989);
  CUDA_REFUSES(cudaMemcpy2D(other, 40, one, 30, 40, 5, cudaMemcpyDeviceToDevice),
               cudaErrorInvalidPitchValue);
  // Pageable memory is read at the call, and written before it returns; pinned memory is not.
  cudaStream_t stream = nullptr;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  void* pinned = nullptr;
  CUDA(cudaMallocHost(&pinned, 4000));
  gate held;
  held.hold(stream);
  CUDA(cudaMemcpyAsync(one, host.data(), 4, cudaMemcpyHostToDevice, stream));
  host[0] = 77;
  auto* seen = static_cast<int*>(pinned);
  *seen = 5;
  CUDA(cudaMemcpyAsync(one + 1, seen, 4, cudaMemcpyHostToDevice, stream));
  *seen = 6;
  CUDA(cudaMemcpyAsync(seen + 2, one, 8, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamQuery(stream) == cudaErrorNotReady);
  CHECK(seen[2] == 0);
  std::thread opener([&] {
    std::this_thread::sleep_for(20ms);
    held.is_open = true;
  });
  CUDA(cudaMemcpyAsync(back.data(), one, 8, cudaMemcpyDeviceToHost, stream));
  CHECK(held.is_open);
  CHECK(back[0] == 0 && back[1] == 6 && seen[2] == 0 && seen[3] == 6);
  opener.join();
  int shadow[4] = {1, 2, 3, 4}, copied[4] = {};
  CUDA(cudaMemcpyToSymbol(shadow_of_variable, shadow, sizeof shadow, 0, cudaMemcpyHostToDevice));
  CUDA(cudaMemcpyFromSymbol(copied, shadow_of_variable, 8, 4, cudaMemcpyDeviceToHost));
  CHECK(copied[0] == 2 && copied[1] == 3);
  CUDA_REFUSES(cudaMemcpyToSymbol(&host, shadow, 4, 0, cudaMemcpyHostToDevice),
               cudaErrorInvalidSymbol);
  CUDA_REFUSES(cudaMemcpyToSymbol(shadow_of_variable, shadow, 8, 12, cudaMemcpyHostToDevice),
               cudaErrorInvalidValue);
}

void streams() {
  cudaStream_t one = nullptr, apart = nullptr;
  CUDA(cudaStreamCreate(&one));
  CUDA(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking));
  cudaEvent_t event = nullptr, later = nullptr;
  CUDA(cudaEventCreate(&event));
  CUDA(cudaEventCreate(&later));
  CUDA(cudaEventQuery(event));  // never recorded: done
  gate held;
  held.hold(one);
  CUDA(cudaEventRecord(event, one));
  CHECK(cudaEventQuery(event) == cudaErrorNotReady);
  CUDA(cudaStreamQuery(apart));
  CUDA(cudaStreamWaitEvent(apart, event, 0));
  CHECK(cudaStreamQuery(apart) == cudaErrorNotReady);
  CHECK(cudaGetLastError() == cudaErrorNotReady);
  // The legacy stream waits for blocking streams; what is on it is done when they are.
  auto* data = on_device<int>(1);
  CUDA(cudaMemsetAsync(data, 1, 4, nullptr));
  CHECK(cudaStreamQuery(nullptr) == cudaErrorNotReady);
  CHECK(cudaEventElapsedTime(nullptr, event, later) == cudaErrorInvalidValue);
  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, event, event) == cudaErrorNotReady);
  CUDA_REFUSES(cudaEventElapsedTime(&ms, later, event), cudaErrorInvalidResourceHandle);
  held.is_open = true;
  CUDA(cudaStreamSynchronize(apart));
  CUDA(cudaDeviceSynchronize());
  CUDA(cudaStreamQuery(nullptr));
  CUDA(cudaEventRecord(event, one));
  for (int n = 0; n < 100; ++n) scale(reinterpret_cast<float*>(data), 1, 1, one);
  CUDA(cudaEventRecord(later, one));
  CUDA(cudaEventSynchronize(later));
  CUDA(cudaEventElapsedTime(&ms, event, later));
  CHECK(ms >= 0.5f);  // a hundred kernels of 5 µs
  // A thread's own default stream keeps out of nobody's way but the legacy one's.
  std::atomic<int> called = 0;
  CUDA(cudaStreamAddCallback(
      cudaStreamPerThread,
      [](cudaStream_t, cudaError_t, void* count) { ++*static_cast<std::atomic<int>*>(count); },
      &called, 0));
  CUDA(cudaStreamSynchronize(cudaStreamPerThread));
  CHECK(called == 1);
  CUDA(cudaStreamDestroy(one));
  CUDA_REFUSES(cudaStreamSynchronize(one), cudaErrorInvalidResourceHandle);
  CUDA(cudaEventDestroy(event));
  CUDA_REFUSES(cudaEventSynchronize(event), cudaErrorInvalidResourceHandle);
  CUDA_REFUSES(cudaStreamCreateWithFlags(&one, 7), cudaErrorInvalidValue);
}

void kernels() {
  std::vector<float> host(100, 3.0f);
  auto* data = on_device<float>(100);
  CUDA(cudaMemcpy(data, host.data(), 400, cudaMemcpyHostToDevice));
  scale(data, 100, 2);
  CUDA(cudaMemcpy(host.data(), data, 400, cudaMemcpyDeviceToHost));
  CHECK(host[0] == 6 && host[99] == 6);
  const auto* function = reinterpret_cast<const void*>(scale_stub);
  void* none[] = {nullptr};
  CUDA_REFUSES(cudaLaunchKernel(function, dim3(1), dim3(2048), none, 0, nullptr),
               cudaErrorInvalidConfiguration);
  CUDA_REFUSES(cudaLaunchKernel(&host, dim3(1), dim3(1), none, 0, nullptr),
               cudaErrorInvalidDeviceFunction);
  CUDA(cudaLaunchKernel(reinterpret_cast<const void*>(nameless_stub), dim3(1), dim3(1), none, 0,
                        nullptr));
  const char* name = nullptr;
  CUDA(cudaFuncGetName(&name, function));
  CHECK(std::strcmp(name, "_Z5scalePfif") == 0);
  cudaKernel_t handle = nullptr;
  CUDA(cudaGetKernel(&handle, function));
  void* arguments[3];
  int count = 100;
  float factor = 0.5f;
  arguments[0] = &data, arguments[1] = &count, arguments[2] = &factor;
  CUDA(cudaLaunchKernel(handle, dim3(1), dim3(1), arguments, 0, nullptr));
  CUDA(cudaMemcpy(host.data(), data, 400, cudaMemcpyDeviceToHost));
  CHECK(host[50] == 3);
}

void graphs() {
  cudaStream_t origin = nullptr, other = nullptr;
  CUDA(cudaStreamCreate(&origin));
  CUDA(cudaStreamCreate(&other));
  cudaEvent_t fork = nullptr, join = nullptr;
  CUDA(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CUDA(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  auto* data = on_device<float>(2);
  const float ones[] = {1, 1};
  CUDA(cudaMemcpy(data, ones, 8, cudaMemcpyHostToDevice));
  cudaGraph_t graph = nullptr;
  CUDA(cudaStreamBeginCapture(origin, cudaStreamCaptureModeGlobal));
  scale(data, 1, 2, origin);
  CUDA(cudaEventRecord(fork, origin));
  CUDA(cudaStreamWaitEvent(other, fork, 0));
  cudaStreamCaptureStatus status;
  CUDA(cudaStreamIsCapturing(other, &status));
  CHECK(status == cudaStreamCaptureStatusActive);
  scale(data + 1, 1, 3, other);
  CUDA(cudaEventRecord(join, other));
  CUDA(cudaStreamWaitEvent(origin, join, 0));
  CUDA(cudaStreamEndCapture(origin, &graph));
  std::size_t nodes = 0;
  CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
  CHECK(nodes == 2);
  float host[2];
  CUDA(cudaMemcpy(host, data, 8, cudaMemcpyDeviceToHost));
  CHECK(host[0] == 1 && host[1] == 1);  // captured, not done
  cudaGraphExec_t ready = nullptr;
  CUDA(cudaGraphInstantiate(&ready, graph, 0));
  CUDA(cudaGraphDestroy(graph));
  for (int n = 0; n < 3; ++n) CUDA(cudaGraphLaunch(ready, origin));
  CUDA(cudaMemcpy(host, data, 8, cudaMemcpyDeviceToHost));
  CHECK(host[0] == 8 && host[1] == 27);
  // What a capture cannot hold spoils it.
  CUDA(cudaStreamBeginCapture(origin, cudaStreamCaptureModeThreadLocal));
  CUDA_REFUSES(cudaStreamSynchronize(origin), cudaErrorStreamCaptureUnsupported);
  CUDA_REFUSES(cudaStreamEndCapture(origin, &graph), cudaErrorStreamCaptureInvalidated);
  CUDA(cudaStreamBeginCapture(origin, cudaStreamCaptureModeGlobal));
  void* at = nullptr;
  CUDA_REFUSES(cudaMalloc(&at, 1), cudaErrorStreamCaptureUnsupported);
  CUDA_REFUSES(cudaStreamEndCapture(origin, &graph), cudaErrorStreamCaptureInvalidated);
  CUDA(cudaStreamBeginCapture(origin, cudaStreamCaptureModeRelaxed));
  CUDA_REFUSES(cudaMemsetAsync(data, 0, 4, nullptr), cudaErrorStreamCaptureImplicit);
  CUDA(cudaEventRecord(fork, origin));
  CUDA(cudaStreamWaitEvent(other, fork, 0));
  scale(data, 1, 2, other);
  CUDA_REFUSES(cudaStreamEndCapture(origin, &graph), cudaErrorStreamCaptureUnjoined);
  CUDA_REFUSES(cudaStreamEndCapture(origin, &graph), cudaErrorIllegalState);
  CUDA_REFUSES(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal),
               cudaErrorStreamCaptureUnsupported);
  // By hand, with a child.
  CUDA(cudaGraphCreate(&graph, 0));
  cudaGraph_t child = nullptr;
  CUDA(cudaGraphCreate(&child, 0));
  cudaGraphNode_t fill = nullptr, copy = nullptr, inner = nullptr;
  cudaMemsetParams zero{data, 0, 0, 1, 8, 1};
  CUDA(cudaGraphAddMemsetNode(&fill, child, nullptr, 0, &zero));
  CUDA(cudaGraphAddChildGraphNode(&inner, graph, nullptr, 0, child));
  CUDA(cudaGraphAddMemcpyNode1D(&copy, graph, &inner, 1, host, data, 8, cudaMemcpyDeviceToHost));
  CUDA(cudaGraphInstantiate(&ready, graph, 0));
  CUDA(cudaGraphLaunch(ready, origin));
  CUDA(cudaStreamSynchronize(origin));
  CHECK(host[0] == 0 && host[1] == 0);
  CUDA(cudaGraphAddDependencies(graph, &copy, &inner, nullptr, 1));
  CUDA_REFUSES(cudaGraphInstantiate(&ready, graph, 0), cudaErrorInvalidValue);
}

void pools() {
  std::size_t before = 0, free = 0, total = 0;
  CUDA(cudaMemGetInfo(&before, &total));
  cudaStream_t stream = nullptr;
  CUDA(cudaStreamCreate(&stream));
  void* at = nullptr;
  CUDA(cudaMallocAsync(&at, 3 * page, stream));
  CUDA(cudaMemsetAsync(at, 1, 3 * page, stream));
  cudaMemPool_t pool = nullptr;
  CUDA(cudaDeviceGetDefaultMemPool(&pool, 0));
  std::uint64_t used = 0;
  CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  CHECK(used == 3 * page);
  gate held;
  held.hold(stream);
  CUDA(cudaFreeAsync(at, stream));
  CUDA(cudaMemGetInfo(&free, &total));
  CHECK(free == before - 3 * page);  // the stream has not got there
  std::thread opener([&] {
    std::this_thread::sleep_for(20ms);
    held.is_open = true;
  });
  void* all = nullptr;
  CUDA(cudaMallocAsync(&all, before, stream));  // waits for what is about to be freed
  opener.join();
  CUDA_REFUSES(cudaMallocAsync(&at, 1, stream), cudaErrorMemoryAllocation);
  CUDA(cudaFreeAsync(all, stream));
  CUDA(cudaStreamSynchronize(stream));
  CUDA(cudaMemGetInfo(&free, &total));
  CHECK(free == before);
  CUDA_REFUSES(cudaFreeAsync(stream, stream), cudaErrorInvalidValue);
}

/// A child that was forked after the first call has no devices; one before has its own.
void forks() {
  const auto child_finds = [](cudaError_t wanted) {
    const pid_t child = ::fork();
    if (child == 0) {
      int count = 0;
      ::_exit(cudaGetDeviceCount(&count) == wanted ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  };
  child_finds(cudaSuccess);
  CUDA(cudaSetDevice(0));
  child_finds(cudaErrorInitializationError);
  CUDA(cudaSetDevice(0));
}

}  // namespace

int main(int count, char** words) {
  const std::map<std::string, void (*)()> parts = {
      {"properties", properties}, {"memory", memory}, {"copies", copies}, {"streams", streams},
      {"kernels", kernels},       {"graphs", graphs}, {"pools", pools},   {"forks", forks}};
  const auto part = count > 1 ? parts.find(words[1]) : parts.end();
  if (part == parts.end() || !registered) return 2;
  part->second();
  return 0;
}
