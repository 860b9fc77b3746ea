// schedule_graph: a schedule as an execution graph: an operation a node.
//
// Every rank is a member of one communicator, "world", with MPI's rules. A graph's streams are
// ordered and a schedule's cpus are not: a node goes on a stream whose last node it waits for, else
// on a new one, stream 0 first for what computes. What waits for an operation's start waits for
// all that the operation waits for: a graph has no edge for that. Messages list also the previous
// node of their stream among what they wait for: what reads graphs of runs does not take it for
// one. A node's sequence among its (peer, tag) counts in program order, which is an order in which
// the operations may go. A graph has no nics: its messages are all of one.
// Not here: times (a calc's duration is its size; of messages nothing is known).
#pragma once

#include <cstdint>
#include <vector>

#include "graph/execution_graph.hpp"
#include "graph/goal/schedule.hpp"

namespace troupe::goal {

/// The graph without its nodes.
result<execution_graph> tables_of(const schedule& what);

struct rank_nodes {
  std::vector<node> nodes;
  std::vector<std::uint32_t> operations;  ///< [node]: its number in the schedule
};

/// errc::bad_input: the rank's operations wait for each other in a circle, or have what a graph
/// cannot say (a recv of any tag, a tag beyond 31 bits, more than 65,535 streams); the context
/// names the rank.
result<rank_nodes> nodes_of(const schedule& what, std::uint32_t rank);

}  // namespace troupe::goal
