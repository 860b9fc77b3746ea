#include "interpose/torch/profile_event.hpp"

#include <ATen/ThreadLocalState.h>
#include <ATen/record_function.h>

namespace troupe {

namespace {

/// The profiler is of the thread that makes the call: the event ends with that thread's state.
class event {
 public:
  event(at::StepCallbacks callbacks, const std::string& name, const tensor_list& shown)
      : recorded_(std::move(callbacks)) {
    recorded_._setAsync();  // it may end in another thread
    std::vector<c10::IValue> inputs(shown.begin(), shown.end());
    recorded_.before(name.c_str(), c10::ArrayRef<const c10::IValue>(inputs.data(), inputs.size()));
  }
  ~event() {
    at::ThreadLocalStateGuard as_begun(state_);
    recorded_.end();
  }
  event(const event&) = delete;
  event& operator=(const event&) = delete;

 private:
  const at::ThreadLocalState state_;
  at::RecordFunction recorded_;
};

}  // namespace

profile_event begin_event(const std::string& backend, const std::string& what,
                          const tensor_list& shown) {
  auto callbacks = at::getStepCallbacksUnlessEmpty(at::RecordScope::USER_SCOPE);
  if (!callbacks) return {};
  return std::make_shared<event>(std::move(*callbacks), backend + ':' + what, shown);
}

bool somebody_profiles() { return at::hasCallbacks(); }

/// gloo reduces the whole to scatter it, and gathers several tensors as one.
const char* event_name(const std::string& backend, c10d::OpType kind) {
  const bool nccl = backend == "nccl";
  switch (kind) {
    case c10d::OpType::BROADCAST:
      return "broadcast";
    case c10d::OpType::ALLREDUCE:
      return "all_reduce";
    case c10d::OpType::ALLREDUCE_COALESCED:
      return nccl ? "allreduce_coalesced" : "all_reduce";
    case c10d::OpType::REDUCE:
      return "reduce";
    case c10d::OpType::ALLGATHER:
      return "all_gather";
    case c10d::OpType::_ALLGATHER_BASE:
      return nccl ? "_all_gather_base" : "all_gather";
    case c10d::OpType::ALLGATHER_COALESCED:
      return nccl ? "all_gather_into_tensor_coalesced" : "all_gather";
    case c10d::OpType::GATHER:
      return "gather";
    case c10d::OpType::SCATTER:
      return "scatter";
    case c10d::OpType::REDUCE_SCATTER:
      return nccl ? "reduce_scatter" : "all_reduce";
    case c10d::OpType::_REDUCE_SCATTER_BASE:
      return nccl ? "_reduce_scatter_base" : "all_reduce";
    case c10d::OpType::ALLTOALL_BASE:
    case c10d::OpType::ALLTOALL:
      return "all_to_all";
    case c10d::OpType::SEND:
      return "send";
    case c10d::OpType::RECV:
      return "recv";
    case c10d::OpType::RECVANYSOURCE:
      return "recvAnySource";
    case c10d::OpType::BARRIER:
      return nccl ? "all_reduce_barrier" : "barrier";
    default:
      return "coalesced";
  }
}

}  // namespace troupe
