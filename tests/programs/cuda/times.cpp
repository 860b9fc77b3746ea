// times: what a device of slow_gpu.yaml is to a program, and what events say of kernels and copies
// on it. On the host device, without NCCL.
#include <cmath>
#include <string>

#include "tests/programs/cuda/check.hpp"

extern "C" {
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*,
                            dim3*, int*);
}

namespace {

char stubs[5];
const char* const names[] = {"_Z4longv", "_Z5scalePfif", "_Z6streamv", "_Z5densev", "_Z5otherv"};
enum kernel { lasts_long, scale, stream, dense, other };

void launch(kernel which, unsigned blocks = 1) {
  void* none[] = {nullptr};
  CUDA(cudaLaunchKernel(&stubs[which], dim3(blocks), dim3(100), none, 0, nullptr));
}

/// Between two events around what is queued. The device is busy for a second before, so that how
/// long the host takes to queue it does not count.
template <class Queue>
double microseconds(Queue queue) {
  cudaEvent_t begin = nullptr, end = nullptr;
  CUDA(cudaEventCreate(&begin));
  CUDA(cudaEventCreate(&end));
  launch(lasts_long);
  CUDA(cudaEventRecord(begin, nullptr));
  queue();
  CUDA(cudaEventRecord(end, nullptr));
  CUDA(cudaEventSynchronize(end));
  float ms = 0;
  CUDA(cudaEventElapsedTime(&ms, begin, end));
  return 1000.0 * static_cast<double>(ms);
}

bool is_near(double found, double wanted) {
  if (std::abs(found - wanted) < 0.01) return true;
  std::fprintf(stderr, "%g us, not %g\n", found, wanted);
  return false;
}

}  // namespace

int main() {
  void** binary = __cudaRegisterFatBinary(nullptr);
  for (int n = 0; n < 5; ++n)
    __cudaRegisterFunction(binary, &stubs[n], nullptr, names[n], -1, nullptr, nullptr, nullptr,
                           nullptr, nullptr);
  int count = 0;
  CUDA(cudaGetDeviceCount(&count));
  CHECK(count == 2);
  cudaDeviceProp all;
  CUDA(cudaGetDeviceProperties(&all, 1));
  CHECK(all.name == std::string("Slow GPU"));
  CHECK(all.major == 8 && all.minor == 6 && all.multiProcessorCount == 10);
  CHECK(all.totalGlobalMem == 1u << 30);
  CHECK(all.l2CacheSize == 41943040);  // an a100's
  CHECK(is_near(microseconds([] { launch(other); }), 7));
  CHECK(is_near(microseconds([] { launch(scale); }), 250));
  CHECK(is_near(microseconds([] {
                  launch(scale);
                  launch(other);
                }),
                257));
  CHECK(is_near(microseconds([] { launch(stream, 10'000); }), 80));
  CHECK(is_near(microseconds([] { launch(stream); }), 0.008));
  CHECK(is_near(microseconds([] { launch(dense); }), 3));
  void *pinned = nullptr, *device = nullptr;
  CUDA(cudaMalloc(&device, 2'000'000));
  CUDA(cudaHostAlloc(&pinned, 1'000'000, 0));
  CHECK(is_near(microseconds([&] {
                  CUDA(cudaMemcpyAsync(device, pinned, 1'000'000, cudaMemcpyHostToDevice, nullptr));
                }),
                100));
  CHECK(is_near(microseconds([&] {
                  CUDA(cudaMemcpyAsync(static_cast<char*>(device) + 1'000'000, device, 1'000'000,
                                       cudaMemcpyDeviceToDevice, nullptr));
                }),
                20));
  return 0;
}
