// group: the calling thread's group: calls between ncclGroupStart and the outermost ncclGroupEnd.
//
// The first error is the group's, which then does nothing. Blocking and non-blocking communicators
// do not mix. Not here: what becomes of the calls (operation.hpp).
#pragma once

#include <memory>
#include <vector>

#include "interpose/nccl/operation.hpp"

namespace troupe {

class call_group {
 public:
  static call_group& of_this_thread();

  void start() { ++depth_; }
  ncclResult_t end();
  /// Drops the calls.
  ncclResult_t simulate_end();

  /// At once when there is no group.
  ncclResult_t add(nccl_call call);
  /// A communicator that was begun and written to *where; waited for at the end, at once when
  /// there is no group.
  ncclResult_t add(std::shared_ptr<communicator> begun, ncclComm_t* where);
  /// What a call answers; within a group the error is also the group's.
  ncclResult_t note(ncclResult_t status) {
    if (depth_ > 0 && status != ncclSuccess && status != ncclInProgress && error_ == ncclSuccess)
      error_ = status;
    return status;
  }

 private:
  struct begun {
    std::shared_ptr<communicator> what;
    ncclComm_t* where;
  };
  ncclResult_t carry_out();
  static ncclResult_t complete(const begun& one);

  int depth_ = 0;
  ncclResult_t error_ = ncclSuccess;
  std::vector<nccl_call> calls_;
  std::vector<begun> begun_;
};

}  // namespace troupe
