// collective_execution: one collective of one communicator on its way: contributions in, folds,
// results out.
//
// Invariant: a fold touches only contributions that have arrived and agree; workers run disjoint
// folds at the same time. Not here: whether members agree (rendezvous.hpp); promises and workers
// (group_proxy.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "actors/contribution.hpp"
#include "gpu/backend.hpp"
#include "gpu/reduction_tree.hpp"
#include "messages/collective.hpp"

namespace troupe {

class collective_execution {
 public:
  collective_execution(backend& memory, payload_pools& pools, const collective_call& first,
                       std::uint32_t members);

  /// A member's contribution. The folds that can run now (none for what does not reduce).
  std::vector<reduction_tree::step> arrived(std::uint32_t group_rank, contribution bytes);
  /// Bytes that a fold reads and writes: whether it is worth a worker.
  std::uint64_t cost(const reduction_tree::step& step) const;
  /// Does one fold (on any thread).
  void fold(const reduction_tree::step& step);
  /// The fold is done. The folds that can run now.
  std::vector<reduction_tree::step> folded(const reduction_tree::step& step);
  /// Is there a last step to do (the division of an average), once complete? finish() does it, on
  /// any thread.
  bool needs_finish() const;
  void finish();
  /// Every member is there and every fold done.
  bool complete() const;

  /// What each member gets, by group rank (null: nothing); regions' reader counts are set. Once,
  /// when complete.
  using pieces = std::shared_ptr<const std::vector<payload>>;
  std::vector<pieces> results(const std::vector<collective_call>& calls);
  /// Nobody gets anything: the regions are free again.
  void abandon();

 private:
  backend& memory_;
  payload_pools& pools_;
  collective_call first_;
  std::vector<contribution> bytes_;
  std::vector<bool> present_;
  std::uint32_t present_count_ = 0;
  bool reduces_;
  reduction_tree tree_;
};

}  // namespace troupe
