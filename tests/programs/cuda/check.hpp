// check: for programs that check themselves: what is not so is said with its line, and the program
// ends with status 1.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                                           \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                                \
    }                                                                              \
  } while (0)

#define CUDA(call)                                                       \
  do {                                                                   \
    const cudaError_t status_ = (call);                                  \
    if (status_ != cudaSuccess) {                                        \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
                   cudaGetErrorString(status_));                         \
      std::exit(1);                                                      \
    }                                                                    \
  } while (0)

/// The call must answer this error, and leave it as the last one.
#define CUDA_REFUSES(call, error)                                                               \
  do {                                                                                          \
    const cudaError_t status_ = (call);                                                         \
    const cudaError_t last_ = cudaGetLastError();                                               \
    if (status_ != (error) || last_ != (error)) {                                               \
      std::fprintf(stderr, "%s:%d: %s: %s, last error %s, not %s\n", __FILE__, __LINE__, #call, \
                   cudaGetErrorName(status_), cudaGetErrorName(last_), #error);                 \
      std::exit(1);                                                                             \
    }                                                                                           \
  } while (0)
