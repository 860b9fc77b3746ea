// troupe_backend: torch's process group (or, from torch 2 on, per-device backend) over one Troupe
// communicator.
//
// Every operation checks what it can check by itself, posts one call (or several) and returns a
// Work; nothing here blocks but monitoredBarrier. Errors are thrown as std::runtime_error and name
// operation and rank, as torch expects of a backend. Its name is not "gloo" whatever the program
// asked for: DDP would take it for a ProcessGroupGloo. Python's get_backend() answers from its own
// table. Not here: matching and sums (the actors'); which group it is for (python/troupe_hook).
#pragma once

#include <functional>
#include <mutex>
#include <optional>

#include "interpose/torch/call_site.hpp"
#include "interpose/torch/sparse_sum.hpp"
#include "interpose/torch/torch_version.hpp"
#include "interpose/torch/work.hpp"

namespace troupe {

class troupe_backend : public c10d_base {
 public:
  struct group {
    std::vector<std::uint32_t> members;  ///< the run's ranks, in the group's order
    int rank = 0;                        ///< this process's place among them
    semantics rules{};
    std::string name;   ///< for sentences
    std::string asked;  ///< the backend that the program named
  };
  using work_ptr = c10::intrusive_ptr<c10d::Work>;

  /// Opens the group's communicator: the n-th group of these members is everywhere the n-th.
  static c10::intrusive_ptr<troupe_backend> open(group of, std::chrono::milliseconds timeout);
  troupe_backend(group of, std::uint64_t communicator, std::chrono::milliseconds timeout)
      : c10d_base(of.rank, static_cast<int>(of.members.size())),
        group_(std::move(of)),
        communicator_(communicator),
        timeout_(timeout) {}

  const std::string getBackendName() const override { return "troupe"; }
  /// "gloo", "nccl" or "mpi": the backend the program asked for.
  const std::string& asked() const { return group_.asked; }

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
  /// Passes everywhere or nowhere: whose time is up first names all who are missing.
  void monitoredBarrier(const c10d::BarrierOptions&, bool wait_all_ranks) override;
  work_ptr send(tensor_list&, int destination, int tag) override;
  work_ptr recv(tensor_list&, int source, int tag) override;
  work_ptr recvAnysource(tensor_list&, int tag) override;
  /// Sequence numbers begin alike on all members.
  void setSequenceNumberForGroup() override {}
  /// Collectives posted so far.
  std::uint64_t getSequenceNumberForGroup() override { return sequence_.load(); }

#if TORCH_VERSION_MAJOR >= 2
  // In some of these versions only: without `override` (torch_version.hpp).
  using options_ptr = c10::intrusive_ptr<c10d::Backend::Options>;
  options_ptr getBackendOptions();
  void setTimeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }
  work_ptr allgather_into_tensor_coalesced(tensor_list& outputs, tensor_list& inputs,
                                           const c10d::AllgatherOptions&);
  work_ptr reduce_scatter_tensor_coalesced(tensor_list& outputs, tensor_list& inputs,
                                           const c10d::ReduceScatterOptions&);
  work_ptr gather_into_tensor(at::Tensor& output, at::Tensor& input, const c10d::GatherOptions&);
  /// As NCCL: what is posted from start to end has one Work.
  bool supportsCoalescing() const { return group_.rules == semantics::nccl; }
  work_ptr endCoalescing();
  /// The group of these of our ranks, in this order; nothing for a rank that is not among them.
  bool supportsSplitting() const { return true; }
  c10::intrusive_ptr<c10d::Backend> split(const c10::intrusive_ptr<c10d::Store>&,
                                          const std::vector<int>& ranks, const options_ptr&);
  c10::intrusive_ptr<c10d::Backend> split(const std::vector<int>& ranks, const options_ptr&);
#else
  void endCoalescing(std::vector<work_ptr>& works) override;
#endif
  void startCoalescing();

 private:
  struct posting;
  using preparation = std::function<void(posting&)>;
  /// The call after its checks. Refusals name operation and rank.
  posting prepared(operation op, const preparation& prepare);
  std::shared_ptr<posted_operation> issue(posting made, profile_event event,
                                          const std::string& site = call_site());
  profile_event event_of(const posting& made, c10d::OpType kind) const;
  work_ptr post(operation op, c10d::OpType kind, std::chrono::milliseconds timeout,
                const preparation& prepare);
  bool is_batching();
  work_ptr joined(c10d::OpType kind, std::chrono::milliseconds timeout, work::parts parts);
  /// Parts of different sizes, as NCCL has them: each member's from or to it.
  work_ptr allgather_uneven(const at::Tensor& input, const tensor_list& outputs,
                            std::chrono::milliseconds timeout);
  work_ptr reduce_scatter_uneven(const at::Tensor& output, const tensor_list& inputs,
                                 const c10d::ReduceScatterOptions&);

  work_ptr allreduce_of_sparse(const at::Tensor&, const c10d::AllreduceOptions&);
  std::shared_ptr<sparse_sums> sparse_order();
  sparse_sum::operation_ptr gather_rows(at::Tensor& whole, at::Tensor& part,
                                        const std::string& site);

  const group group_;
  const std::uint64_t communicator_;
  std::atomic<std::chrono::milliseconds> timeout_;
  std::atomic<std::uint64_t> sequence_{0}, monitored_barriers_{0};
  std::mutex batch_mutex_;
  std::mutex sparse_mutex_;
  std::shared_ptr<sparse_sums> sparse_;  ///< since the first sparse tensor
  std::optional<work::parts> batch_;     ///< what was posted since startCoalescing
};

}  // namespace troupe
