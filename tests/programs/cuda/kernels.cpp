// kernels: host functions for the kernels that device.cpp registers, as a library for
// TROUPE_KERNELS.
#include "interpose/cudart/troupe_kernel.h"

namespace {

/// void scale(float* data, int count, float factor)
void scale(const troupe_launch* launch, void** arguments) {
  auto* data = *static_cast<float**>(arguments[0]);
  const int count = *static_cast<int*>(arguments[1]);
  const float factor = *static_cast<float*>(arguments[2]);
  const auto threads = static_cast<int>(launch->grid[0] * launch->block[0]);
  for (int thread = 0; thread < threads; ++thread)
    for (int n = thread; n < count; n += threads) data[n] *= factor;
}
const size_t scale_sizes[] = {sizeof(float*), sizeof(int), sizeof(float)};

}  // namespace

const troupe_host_kernel troupe_host_kernels[] = {{"_Z5scalePfif", scale, 3, scale_sizes, nullptr},
                                                  {nullptr, nullptr, 0, nullptr, nullptr}};
