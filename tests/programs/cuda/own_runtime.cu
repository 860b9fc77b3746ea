// own_runtime: a program that nvcc has linked CUDA's runtime into, and which runs on the host device
// all the same. With kernels.cpp's host function for its kernel.
#include <string>
#include <vector>

#include "tests/programs/cuda/check.hpp"

__global__ void scale(float* data, int count, float factor) {
  for (unsigned n = blockIdx.x * blockDim.x + threadIdx.x; n < count; n += gridDim.x * blockDim.x)
    data[n] *= factor;
}

int main() {
  cudaDeviceProp all;
  CUDA(cudaGetDeviceProperties(&all, 0));
  CHECK(all.name == std::string("NVIDIA H200"));
  std::vector<float> values(1000, 3);
  float* data = nullptr;
  cudaStream_t stream = nullptr;
  CUDA(cudaStreamCreate(&stream));
  CUDA(cudaMalloc(&data, values.size() * sizeof(float)));
  CUDA(cudaMemcpyAsync(data, values.data(), values.size() * sizeof(float), cudaMemcpyDefault, stream));
  scale<<<4, 128, 0, stream>>>(data, 1000, 2);
  CUDA(cudaGetLastError());
  CUDA(cudaStreamSynchronize(stream));
  CUDA(cudaMemcpy(values.data(), data, values.size() * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(values == std::vector<float>(1000, 6));
  CHECK(cudaMalloc(&data, ~std::size_t{0} / 2) == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
  return 0;
}
