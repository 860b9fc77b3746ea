// timeline_exporter: writes ranks, one at a time, as a timeline that another tool shows.
//
// In: begin(), then add() once for each rank to be shown, ascending, then end(). What disk says
// comes from buffered_output. Rows are rank_timeline's; nothing overlaps on a row.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/execution_graph.hpp"
#include "graph/rank_timeline.hpp"

namespace troupe {

class timeline_exporter {
 public:
  virtual ~timeline_exporter() = default;

  /// `tables`: everything of the graph but its nodes; must outlive the exporter.
  virtual void begin(const execution_graph& tables) = 0;
  virtual void add(rank_id rank, std::span<const node> nodes,
                   std::span<const slot_interval> of_rank) = 0;
  virtual void end() = 0;
};

/// "program", "stream 2: tp_group", "stream 2: tp_group, lane 1".
std::string row_name(const timeline_row& row, std::span<const communicator_entry> communicators);

/// "compute", "iteration", "gloo:all_reduce".
std::string node_name(const node& what, std::span<const communicator_entry> communicators);

/// "running on slot 3", "blocked: collective".
std::string span_name(const slot_span& span);

/// The node that issued an operation: the latest compute node it comes after. `nodes.size()`: none.
std::size_t issuer_of(std::span<const node> nodes, std::size_t operation);

}  // namespace troupe
