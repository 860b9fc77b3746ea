// node_check: what every node of a graph keeps to, checked before it is written and after it is
// read.
//
// Not here: whether the ranks' nodes fit each other (a graph may be of a run that went wrong).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "graph/execution_graph.hpp"

namespace troupe {

constexpr std::uint64_t node_time_ns_max = std::uint64_t{1}
                                           << 56;   ///< of a duration, of a gap: two years
constexpr std::uint32_t node_after_max = 1u << 20;  ///< edges into one node

/// Checks the nodes of one rank against the tables.
class node_check {
 public:
  node_check(rank_id rank, std::span<const communicator_entry> communicators,
             std::uint32_t call_sites)
      : rank_(rank), communicators_(communicators), call_sites_(call_sites) {}

  /// Everything but times, sequence and how far back `after` may reach. Empty: nothing is wrong.
  std::string wrong_shape(const node& what);

 private:
  bool is_member(std::uint32_t communicator);

  rank_id rank_;
  std::span<const communicator_entry> communicators_;
  std::uint32_t call_sites_;
  std::map<std::uint32_t, bool> membership_;
};

/// Does the operation have a root?
constexpr bool is_rooted(operation op) {
  return op == operation::broadcast || op == operation::reduce || op == operation::gather
         || op == operation::scatter;
}

}  // namespace troupe
