// trace_expansion: the schedule that a graph is on a network: spans as calcs, messages as sends and
// recvs, collectives as an algorithm's messages.
//
// A stream is a cpu of its rank, and one more cpu per rank holds calcs of no time: one where a
// communication may begin, one where it has ended, one a marker. Measured times of communication
// are left out, they are what is asked for. What waits for what:
//   a span, a copy, a marker      what the graph says: its edges and its stream's previous nodes
//   a collective                  likewise; with rules other than NCCL's not for messages before it
//   a message                     its edges, and with NCCL's rules its stream's last collective;
//   the
//                                 start, not the end, of the message before it (a graph does not
//                                 say which of them were called as one group)
// An all_to_all's bytes are split evenly over its members: a graph has no splits.
// With `gpus_per_node` so many ranks of the graph share a rank of the schedule, each with cpus and
// a nic of its own, those of one process next to each other; what they send each other is a calc.
// Not here: how collectives are done (graph/schedule/), how long it takes (net/).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "graph/goal/schedule.hpp"
#include "graph/prism_trace_reader.hpp"
#include "graph/schedule/collective_algorithm.hpp"

namespace troupe::goal {

struct trace_expansion_options {
  schedule_options
      how;  ///< every collective's algorithm that the algorithm knows (`hosts`: unused)
  std::uint32_t gpus_per_node = 1;
  std::uint64_t inside_latency_ns = 0;  ///< of what GPUs of a node send each other
  double inside_ns_per_byte = 0;
  std::function<bool()> go_on = {};  ///< asked before each rank; false stops: errc::interrupted
  double reduce_ns_per_byte = 0;     ///< of what is received and reduced; 0: no calc
};

/// A node's first and last operation in the schedule (the same one for what is one operation).
struct node_place {
  std::uint32_t begin{}, end{};
};

using algorithms_used = std::map<troupe::operation, std::set<algorithm>>;

struct expanded_trace {
  schedule made;
  std::vector<std::vector<node_place>> places;  ///< [rank of the graph][node]
  algorithms_used algorithms;                   ///< of what there was to do
};

/// errc::bad_input: the graph
/// cannot be a run that ended (the context names rank and node), or the reader's;
/// errc::no_resources: a limit of schedules.
result<expanded_trace> expand_trace(prism_trace_reader& trace,
                                    const trace_expansion_options& options);

}  // namespace troupe::goal
