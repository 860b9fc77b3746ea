// troupe_backend: torch's process group (or, from torch 2 on, per-device backend) over one Troupe
// communicator.
//
// Every operation checks what it can check by itself, posts one call and returns a Work; nothing
// here blocks but monitoredBarrier. Errors are thrown as std::runtime_error and name operation and
// rank, as torch expects of a backend. Its name is not "gloo" whatever the program asked for: DDP
// would take it for a ProcessGroupGloo. Python's get_backend() answers from its own table. Not
// here: matching and sums (the actors'); which communicator (module.cpp).
#pragma once

#include "interpose/torch/torch_version.hpp"
#include "interpose/torch/work.hpp"

namespace troupe {

class troupe_backend : public c10d_base {
 public:
  troupe_backend(int rank, int size, std::uint64_t communicator, semantics rules,
                 std::chrono::milliseconds timeout)
      : c10d_base(rank, size), communicator_(communicator), rules_(rules), timeout_(timeout) {}

  using work_ptr = c10::intrusive_ptr<c10d::Work>;
  const std::string getBackendName() const override { return "troupe"; }

  work_ptr broadcast(tensor_list&, const c10d::BroadcastOptions&) override;
  work_ptr allreduce(tensor_list&, const c10d::AllreduceOptions&) override;
  work_ptr allreduce_coalesced(tensor_list&, const c10d::AllreduceCoalescedOptions&) override;
  work_ptr reduce(tensor_list&, const c10d::ReduceOptions&) override;
  work_ptr allgather(std::vector<tensor_list>&, tensor_list&,
                     const c10d::AllgatherOptions&) override;
  work_ptr _allgather_base(at::Tensor&, at::Tensor&, const c10d::AllgatherOptions&) override;
  work_ptr allgather_coalesced(std::vector<tensor_list>&, tensor_list&,
                               const c10d::AllgatherOptions&) override;
  work_ptr gather(std::vector<tensor_list>&, tensor_list&, const c10d::GatherOptions&) override;
  work_ptr scatter(tensor_list&, std::vector<tensor_list>&, const c10d::ScatterOptions&) override;
  work_ptr reduce_scatter(tensor_list&, std::vector<tensor_list>&,
                          const c10d::ReduceScatterOptions&) override;
  work_ptr _reduce_scatter_base(at::Tensor&, at::Tensor&,
                                const c10d::ReduceScatterOptions&) override;
  work_ptr alltoall_base(at::Tensor&, at::Tensor&, std::vector<std::int64_t>& output_splits,
                         std::vector<std::int64_t>& input_splits,
                         const c10d::AllToAllOptions&) override;
  work_ptr alltoall(tensor_list&, tensor_list&, const c10d::AllToAllOptions&) override;
  work_ptr barrier(const c10d::BarrierOptions&) override;
  /// A barrier; the rank that is missing is named by the run's own diagnosis.
  void monitoredBarrier(const c10d::BarrierOptions&, bool wait_all_ranks) override;
  work_ptr send(tensor_list&, int destination, int tag) override;
  work_ptr recv(tensor_list&, int source, int tag) override;
  work_ptr recvAnysource(tensor_list&, int tag) override;
  /// Sequence numbers begin alike on all members.
  void setSequenceNumberForGroup() override {}
  /// Collectives posted so far.
  std::uint64_t getSequenceNumberForGroup() override { return sequence_.load(); }

 private:
  struct posting;
  template <class Prepare>
  work_ptr post(operation op, c10d::OpType kind, std::chrono::milliseconds timeout,
                Prepare prepare);

  const std::uint64_t communicator_;
  const semantics rules_;
  const std::chrono::milliseconds timeout_;
  std::atomic<std::uint64_t> sequence_{0};
};

}  // namespace troupe
