// rank_graph_builder: turns what a rank was seen doing into the nodes of its part of the graph.
//
// Between two events of the rank there is always one compute node (possibly of length 0), so that the structure does not
// depend on timing. An operation's edges: it comes after the compute node before it (listed in `after`: other stream); what
// the rank awaited comes before the next compute node. An edge is recorded even when it was satisfied already.
// Asynchronous operations that were handed out as futures are awaited by the next synchronising marker.
// Not here: files (prism_trace_writer.hpp); communicators' and call sites' tables (the recorder's).
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

  /// The rank issued an operation. `what` has kind, op, type, reduce, communicator, sequence, size, peer, tag, call_site
  /// and stream set; the builder sets the times and edges. `as_future`: its completion may be observed where we cannot
  /// see it, so that it counts as awaited at the next synchronising marker.
  void issued(operation_id operation, node what, bool as_future, std::uint64_t at_ns);
  /// Resolved: its result is known (its duration ends). Each issued operation once; later than `awaited` or earlier.
  void resolved(operation_id operation, std::uint64_t at_ns);
  /// The rank awaits, or found complete, these operations (unknown ones are ignored: they were awaited before).
  void awaited(const std::vector<operation_id>& operations, std::uint64_t at_ns);
  /// A marker of the program; backward_end and optimizer_step synchronise with operations handed out as futures.
  void marked(marker_kind what, std::uint64_t at_ns);
  /// The rank does not run on a slot from `blocked` to `resumed`: that time is no compute.
  void blocked(std::uint64_t at_ns);
  void resumed(std::uint64_t at_ns);
  /// The rank ended: an end marker; operations never resolved end now.
  void ended(std::uint64_t at_ns);

  /// The nodes, in order, whose durations are final; each is handed out once.
  std::vector<node> take();

 private:
  std::uint32_t close_compute(std::uint64_t at_ns);
  std::uint32_t append(node what, std::uint64_t start_ns, std::uint64_t end_ns);

  struct open_operation {
    std::uint32_t index{};
    std::uint64_t start_ns{};
    bool resolved = false, as_future = false, awaited = false;
  };
  std::deque<node> pending_;            // first one is number taken_
  std::deque<bool> final_;
  std::uint32_t taken_ = 0;
  std::map<operation_id, open_operation> open_;
  std::vector<std::uint32_t> awaited_;  // node numbers the next compute node comes after
  std::map<std::uint16_t, std::uint64_t> stream_end_ns_;
  std::map<std::uint16_t, std::uint32_t> stream_last_;
  std::uint64_t compute_from_ns_;
  std::uint64_t compute_ns_ = 0;        // of the current span, without blocked time
  std::uint64_t span_start_ns_;
  bool running_ = true;
};

}  // namespace troupe
