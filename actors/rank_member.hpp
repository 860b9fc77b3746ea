// rank_member: a process' logical ranks, as their actor keeps them: the communicators that each has
// opened, and its part of the graph.
//
// Not here: the process' slot and answers, which its ranks share (rank.cpp, rank_turn.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actors/rank_state.hpp"
#include "graph/rank_graph_builder.hpp"
#include "messages/companions.hpp"

namespace troupe {

struct rank_member {
  rank_member(rank_id me, std::uint64_t at_ns) : me(me), graph(at_ns) {}

  /// Null: it has not opened that one.
  opened_group* group(communicator_id communicator);
  /// The node of a call on this communicator; none of a call that is impossible by itself, which
  /// its group refuses.
  static std::optional<node> node_of(const to_troupe::issue& call, opened_group& group,
                                     std::uint32_t call_site);

  const rank_id me;
  std::unordered_map<communicator_id, opened_group> groups;
  rank_graph_builder graph;
};

/// The lead, and the companions that there are so far. References to members and to their groups
/// stay valid: nothing is erased. Times are ns since the run's start.
class rank_members {
 public:
  /// The lead begins at 0, and waits for its first slot.
  rank_members(rank_id lead, std::uint32_t processes);

  rank_member& lead() { return members_.at(0); }
  /// The one that makes such requests; null: there is none.
  rank_member* of(companion_number companion);
  rank_member* caller(operation_id operation) { return of(companion_of(operation)); }
  /// The companion begins now if it is new.
  rank_member& enter(companion_number companion, std::uint64_t now_ns);
  /// Why the communicator cannot be: nobody must have to keep ranks that there cannot be. Empty: it
  /// can.
  std::string misfit(const to_troupe::open_communicator& wanted) const;

  /// The process does not run, and runs again.
  void blocked(std::uint64_t at_ns);
  void resumed(std::uint64_t at_ns);
  /// Each operation is awaited by whoever called it.
  void awaited(const std::vector<operation_id>& operations, std::uint64_t at_ns);
  void ended(std::uint64_t at_ns);
  std::vector<rank_id> companions() const;
  /// The nodes of each that are final, each handed out once.
  std::vector<std::pair<rank_id, std::vector<node>>> take();

 private:
  rank_id number(companion_number companion) const { return rank_of(lead_, companion, processes_); }

  const rank_id lead_;
  const std::uint32_t processes_;
  std::map<companion_number, rank_member> members_;  // the lead's number is 0
  bool runs_ = false;
};

}  // namespace troupe
