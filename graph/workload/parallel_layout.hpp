// parallel_layout: which rank has which part of the model, and the groups in which ranks
// communicate.
//
// The order is Megatron-LM's: tensor-parallel ranks next to each other, then data-parallel ones,
// then pipeline stages: rank = tensor + tp · (data + dp · stage). The tp · dp ranks of a stage are
// divided anew for experts: expert-tensor fastest, then expert, then replicas of experts (edp).
// With expert_tp = tp this is "ep divides dp". Every group's members ascend. Not here: context
// parallelism; which groups a step uses (llm_step.cpp).
#pragma once

#include <cstdint>
#include <vector>

#include "messages/error.hpp"
#include "messages/ids.hpp"

namespace troupe::workload {

enum class group_kind : std::uint8_t {
  tensor,
  data,
  expert,         ///< exchange tokens
  expert_tensor,  ///< share an expert
  expert_data,    ///< replicas of the same experts
  forward,        ///< a stage's rank and the next stage's: activations
  backward,       ///< the same two: their gradients
  embedding,      ///< the first stage's rank and the last's
  model,          ///< all that share one replica of the dense parameters
  world
};
constexpr int group_kind_count = 10;
const char* to_string(group_kind kind);  ///< "tp", "dp", "ep", …

struct parallel_layout {
  std::uint64_t tp = 1, pp = 1, dp = 1, ep = 1;
  std::uint64_t expert_tp = 1;

  std::uint64_t world() const { return tp * pp * dp; }
  std::uint64_t stage_ranks() const { return tp * dp; }
  std::uint64_t expert_dp() const { return stage_ranks() / (expert_tp * ep); }
  std::uint64_t stage_of(std::uint64_t rank) const { return rank / stage_ranks(); }
  std::uint64_t expert_of(std::uint64_t rank) const { return rank / expert_tp % ep; }
  std::uint64_t replica_of_experts(std::uint64_t rank) const {
    return rank % stage_ranks() / (expert_tp * ep);
  }

  std::uint64_t group_size(group_kind kind) const;
  std::uint64_t group_count(group_kind kind) const;
  /// The group of its kind that the rank belongs to; forward and backward: the one to the next
  /// stage (of the last stage: to the first).
  std::uint64_t group_of(group_kind kind, std::uint64_t rank) const;
  std::vector<rank_id> members(group_kind kind, std::uint64_t group) const;
};

/// errc::usage says what does not divide, or is too large for a trace.
result<void> check(const parallel_layout& layout);

}  // namespace troupe::workload
