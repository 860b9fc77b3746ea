// error_calls: cudart's calls about errors and versions.
#include "interpose/cudart/runtime.hpp"

using namespace troupe;

extern "C" {

cudaError_t cudaGetLastError() { return std::exchange(this_thread().last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return this_thread().last_error; }

const char* cudaGetErrorName(cudaError_t error) {
  switch (static_cast<int>(error)) {
#define TROUPE_CUDA_ERROR(number, name, text) \
  case number:                                \
    return #name;
#include "interpose/cudart/cuda_errors.def"
#undef TROUPE_CUDA_ERROR
    default:
      return "unrecognized error code";
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (static_cast<int>(error)) {
#define TROUPE_CUDA_ERROR(number, name, text) \
  case number:                                \
    return text;
#include "interpose/cudart/cuda_errors.def"
#undef TROUPE_CUDA_ERROR
    default:
      return "unrecognized error code";
  }
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (!version) return answer(cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }

cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }

}  // extern "C"
