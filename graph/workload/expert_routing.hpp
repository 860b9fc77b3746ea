// expert_routing: how many tokens each expert-parallel rank gets of those that its group
// dispatches.
//
// Evenly, or one of them, drawn for each replica, layer, micro-batch and step, gets `imbalance`
// times the mean and the others share the rest. Nobody gets none. The ranks that share an expert
// (and so those of the groups beside) see the same draw.
#pragma once

#include <cstdint>

namespace troupe::workload {

struct routing_event {
  std::uint64_t replica{}, layer{}, micro_batch{}, step{};
};

/// Tokens that rank `expert_rank` of `ranks` gets, where each gives `given` (at least 1) of them.
std::uint64_t routed_tokens(std::uint64_t given, std::uint64_t ranks, std::uint64_t expert_rank,
                            double imbalance, std::uint64_t seed, const routing_event& event);

}  // namespace troupe::workload
