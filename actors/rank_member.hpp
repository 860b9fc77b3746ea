// rank_member: one logical rank of a process, as its actor keeps it: the communicators that it has
// opened, and its part of the graph.
//
// Not here: the process' slot and answers, which its ranks share (rank.cpp, rank_turn.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "actors/rank_state.hpp"
#include "graph/rank_graph_builder.hpp"

namespace troupe {

class rank_member {
 public:
  /// Begins, without a slot, at `at_ns` since the run's start.
  rank_member(rank_id me, std::uint64_t at_ns) : me(me), graph(at_ns) { graph.blocked(at_ns); }

  /// The node of a call on this communicator; none of a call that is impossible by itself, which
  /// its group refuses.
  static std::optional<node> node_of(const to_troupe::issue& call, opened_group& group,
                                     std::uint32_t call_site);

  const rank_id me;
  /// References stay valid: nothing is erased.
  std::unordered_map<communicator_id, opened_group> groups;
  rank_graph_builder graph;
};

}  // namespace troupe
