// node_expansion: one rank of a schedule, from the nodes of the graph's ranks that live in it.
//
// The ranks come one after the other, whole. What needs several of them (a collective with several
// members here, a message between two) is written when the last of them has come.
// Not here: which ranks there are (trace_expansion.cpp).
#pragma once

#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "graph/goal/communication_plan.hpp"
#include "graph/goal/trace_expansion.hpp"

namespace troupe::goal {

class node_expansion {
 public:
  /// All outlive it. `first`: the number of the first operation of the rank that `to` has begun.
  node_expansion(const communication_plan& plan, std::span<const communicator_entry> communicators,
                 const trace_expansion_options& options, std::uint32_t self, std::uint32_t first,
                 schedule_builder& to, algorithms_used& used);

  /// The places of the rank's nodes. `seat`: its number among those that live here.
  result<std::vector<node_place>> add(rank_id rank, std::uint32_t seat,
                                      std::span<const node> nodes);
  /// After the last rank: is everything written? errc::bad_input names what is not.
  result<void> end() const;

 private:
  struct stream_state {
    bool has_last = false;
    std::uint32_t last{};                 // ended: whatever waits for all of the stream
    std::vector<std::uint32_t> messages;  // ends of messages since
    bool has_message = false;
    std::uint32_t message{};  // the latest message's operation
  };
  /// A rank while its nodes are added.
  struct walk {
    rank_id rank;
    std::uint32_t seat{};
    group_ranks groups;
    std::span<const node> nodes;
    std::vector<node_place> places{};  // numbers within the rank
    std::map<std::uint16_t, stream_state> streams{};
  };
  /// A member's collective of which other members here are still to come.
  struct waiting_part {
    node_place place;
    std::uint32_t member{};
    std::uint16_t cpu{}, nic{};
    node what;
  };
  /// One end of a message inside the rank, whose other end is still to come.
  struct waiting_end {
    node_place place;
    bool is_send{};
    std::uint16_t cpu{};
  };

  std::uint16_t cpu(std::uint32_t seat, std::uint32_t stream) const {
    return static_cast<std::uint16_t>(seat * (plan_.streams() + 1) + stream);
  }
  std::uint32_t moment(std::uint32_t seat) {
    return to_.add({.kind = operation_kind::calc, .cpu = cpu(seat, plan_.streams())});
  }
  void wait_for(std::uint32_t later, std::span<const std::uint32_t> earlier) {
    for (const auto each : earlier) to_.depend(later, each, false);
  }
  std::vector<std::uint32_t> dependencies_of(const walk& on, std::uint32_t index,
                                             const stream_state& stream, bool with_last,
                                             bool with_messages) const;
  void add_span(walk& on, const node& what, std::uint32_t index);
  result<void> add_collective(walk& on, const node& what, std::uint32_t index);
  result<void> add_message(walk& on, const node& what, std::uint32_t index);
  result<void> join_inside(walk& on, const node& what, node_place place);
  result<void> expand(std::span<const waiting_part> parts);
  bool moves_nothing(const node& what, const collective_shape& shape) const;
  result<collective_shape> shape(const node& what, std::uint32_t member) const;

  const communication_plan& plan_;
  const std::span<const communicator_entry> communicators_;
  const trace_expansion_options& options_;
  const std::uint32_t self_, first_;
  schedule_builder& to_;
  algorithms_used& used_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<waiting_part>> collectives_;
  // communicator, from, to (group ranks), tag, sequence
  std::map<std::tuple<std::uint32_t, std::int64_t, std::int64_t, std::int32_t, std::uint64_t>,
           waiting_end>
      messages_;
  std::vector<transfer_program> programs_;
};

}  // namespace troupe::goal
