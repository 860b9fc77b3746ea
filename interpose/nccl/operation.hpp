// operation: one NCCL call as it was made, and how calls of a group are queued on their streams.
//
// The calls of one communicator in a group are one piece of work, as they are one kernel to NCCL:
// all are issued together and the streams go on when all are done. Not here: what a group is
// (group.hpp).
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <memory>
#include <string>
#include <vector>

#include "interpose/nccl/communicator.hpp"
#include "messages/collective.hpp"

namespace troupe {

struct nccl_call {
  std::shared_ptr<communicator> on;
  cudaStream_t stream;
  operation op;
  element_type type;
  reduction reduce = reduction::none;
  std::uint64_t count = 0;  ///< as in collective_call
  int root = 0;             ///< or the peer
  const void* input = nullptr;
  void* output = nullptr;
  std::shared_ptr<const premultiplication> premultiplied = nullptr;
  std::string site = {};
};

/// Queues the calls, which are of one communicator, in their order.
ncclResult_t queue(std::vector<nccl_call> calls);

}  // namespace troupe
