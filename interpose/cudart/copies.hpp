// copies: what cudart's copy and fill calls do: rows from here to there, by CUDA's rules of who
// waits.
//
// A call on pageable memory of the host has read it, or written it, when it returns; pinned and
// device memory is copied when the stream gets there. Calls without `Async` wait, except from
// device to device and for fills of device memory.
#pragma once

#include "interpose/cudart/runtime.hpp"

namespace troupe {

struct copy_rows {
  void* to;
  std::size_t to_pitch;
  const void* from;
  std::size_t from_pitch;
  std::size_t width, height = 1;
};

struct fill_rows {
  void* to;
  std::size_t pitch;
  unsigned value;
  std::size_t width, height = 1;
};

/// cudaErrorInvalidValue: rows that leave an allocation, or a kind that the addresses are not of.
cudaError_t copy(device_runtime& rt, const copy_rows& rows, cudaMemcpyKind kind,
                 cudaStream_t stream, bool returns_at_once);
cudaError_t fill(device_runtime& rt, const fill_rows& rows, cudaStream_t stream,
                 bool returns_at_once);

/// A copy as a step of a plan: memory is read when it runs.
cudaError_t make_copy_step(device_runtime& rt, const copy_rows& rows, cudaMemcpyKind kind,
                           plan_step& step);
cudaError_t make_fill_step(device_runtime& rt, const fill_rows& rows, plan_step& step);

}  // namespace troupe
