#include "interpose/nccl/group.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

call_group& call_group::of_this_thread() {
  static thread_local call_group group;
  return group;
}

ncclResult_t call_group::end() {
  if (depth_ == 0) return refuse(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (--depth_ > 0) return error_;
  const auto status = error_ == ncclSuccess ? carry_out() : error_;
  error_ = ncclSuccess;
  calls_.clear();
  begun_.clear();
  return status;
}

ncclResult_t call_group::simulate_end() {
  if (depth_ == 0) return refuse(ncclInvalidUsage, "ncclGroupSimulateEnd without ncclGroupStart");
  if (--depth_ > 0) return error_;
  calls_.clear();
  begun_.clear();
  return std::exchange(error_, ncclSuccess);
}

ncclResult_t call_group::carry_out() {
  std::vector<communicator*> all;
  for (const auto& one : begun_) all.push_back(one.what.get());
  for (const auto& call : calls_) all.push_back(call.on.get());
  for (const auto* one : all)
    if (one->blocking() != all.front()->blocking())
      return refuse(ncclInvalidArgument, "blocking and non-blocking communicators in one group");
  auto status = ncclSuccess;
  for (const auto& one : begun_) {
    if (!one.what->blocking())
      status = ncclInProgress;
    else if (auto failed = complete(one); failed != ncclSuccess) {
      for (const auto& other : begun_) delete std::exchange(*other.where, nullptr);
      return failed;
    }
  }
  while (!calls_.empty()) {  // one communicator's after another's
    const auto on = calls_.front().on;
    const auto rest = std::stable_partition(calls_.begin(), calls_.end(),
                                            [&](const nccl_call& call) { return call.on == on; });
    std::vector<nccl_call> its(std::make_move_iterator(calls_.begin()),
                               std::make_move_iterator(rest));
    calls_.erase(calls_.begin(), rest);
    if (auto failed = queue(std::move(its)); failed != ncclSuccess) return failed;
  }
  return status;
}

ncclResult_t call_group::add(nccl_call call) {
  if (depth_ == 0) {
    std::vector<nccl_call> alone;
    alone.push_back(std::move(call));
    return queue(std::move(alone));
  }
  calls_.push_back(std::move(call));
  return ncclSuccess;
}

ncclResult_t call_group::add(std::shared_ptr<communicator> made, ncclComm_t* where) {
  const begun one{std::move(made), where};
  if (depth_ > 0) {
    begun_.push_back(one);
    return one.what->blocking() ? ncclSuccess : ncclInProgress;
  }
  return one.what->blocking() ? complete(one) : ncclInProgress;
}

/// A member that a split left out has no communicator.
ncclResult_t call_group::complete(const begun& one) {
  const auto status = one.what->complete();
  if (status == ncclSuccess && one.what->exists()) return status;
  delete std::exchange(*one.where, nullptr);
  return status;
}

}  // namespace troupe
