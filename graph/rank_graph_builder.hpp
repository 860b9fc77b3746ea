// rank_graph_builder: turns what a rank was seen doing into the nodes of its part of the graph.
//
// Between two events of the rank there is always one compute node (possibly of length 0), so that
// the structure does not depend on timing. An operation's edges: it comes after the compute node
// before it (listed in `after`: other stream); what the rank awaited comes before the next compute
// node. An edge is recorded even when it was satisfied already. Asynchronous operations that were
// handed out as futures are awaited by the next synchronising marker. A compute node's time is what
// the rank ran; blocked time shows as the next node's gap. Grows with what is unresolved: nodes
// after an operation that is not resolved wait here for it. Not here: files
// (prism_trace_writer.hpp); communicators' and call sites' tables (the recorder's).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "graph/execution_graph.hpp"

namespace troupe {

class rank_graph_builder {
 public:
  /// Begins at `at` (ns since the run's start) with a start marker.
  explicit rank_graph_builder(std::uint64_t at_ns);

  /// The rank issued an operation. `what` has kind, op, type, reduce, communicator, sequence, size,
  /// peer, tag, call_site and stream set; the builder sets the times and edges. `as_future`: its
  /// completion may be observed where we cannot see it, so that it counts as awaited at the next
  /// synchronising marker.
  void issued(operation_id operation, node what, bool as_future, std::uint64_t at_ns);
  /// The same, learnt after `issued`.
  void taken_as_future(operation_id operation);
  /// Resolved: its result is known (its duration ends). Each issued operation once; later than
  /// `awaited` or earlier; after `ended` it changes nothing.
  void resolved(operation_id operation, std::uint64_t at_ns);
  /// The rank awaits, or found complete, these operations (unknown ones are ignored: they were
  /// awaited before).
  void awaited(const std::vector<operation_id>& operations, std::uint64_t at_ns);
  /// A marker of the program; backward_end and optimizer_step synchronise with operations handed
  /// out as futures.
  void marked(marker_kind what, std::uint64_t at_ns);
  /// A copy between a device and the host that the program asked for: a node of the program's own
  /// stream, with the device's time (of 30 years at most).
  void copied(std::uint64_t size, std::uint64_t duration_ns, std::uint64_t at_ns);
  /// The rank does not run on a slot from `blocked` to `resumed`: that time is no compute.
  void blocked(std::uint64_t at_ns);
  void resumed(std::uint64_t at_ns);
  /// The rank ended: an end marker; operations never resolved end now.
  void ended(std::uint64_t at_ns);

  /// The nodes, in order, whose durations are final; each is handed out once.
  std::vector<node> take();

 private:
  struct open_operation {
    std::uint32_t index{};
    bool as_future = false, resolved = false, awaited = false;
  };

  std::uint64_t advance(std::uint64_t at_ns);
  std::uint32_t append(node what, std::uint64_t start_ns, bool is_final);
  void close_compute(std::uint64_t at_ns);
  void begin_compute(std::uint64_t at_ns);
  void append_marker(marker_kind what, std::uint64_t at_ns, std::vector<std::uint32_t> joined);

  struct pending_node {
    node what;
    std::uint64_t start_ns{};
    bool is_final = false;
  };
  struct stream_state {
    std::uint32_t last{};    // number of its latest node
    std::uint64_t end_ns{};  // of that node, once final
    bool is_final = true;
  };

  std::deque<pending_node> pending_;  // the first is node number taken_
  std::uint32_t taken_ = 0;
  std::map<operation_id, open_operation> open_;  // neither resolved and awaited, nor joined
  std::vector<std::uint32_t> awaited_;           // node numbers the next compute node comes after
  std::map<std::uint16_t, stream_state> streams_;
  std::uint64_t latest_ns_;      // no event counts as earlier than the one before it
  std::uint64_t span_start_ns_;  // of the compute node to come
  std::uint64_t running_since_ns_;
  std::uint64_t compute_ns_ = 0;  // of that node so far, without blocked time
  bool running_ = true, ended_ = false;
};

}  // namespace troupe
