// graph_summary: what is in a graph, in numbers: nodes, operations, traffic, digests. What `troupe
// inspect` reports.
//
// Not here: what is slow and why.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "graph/execution_graph.hpp"
#include "graph/prism_trace_reader.hpp"
#include "graph/traffic_matrix.hpp"
#include "messages/error.hpp"

namespace troupe {

struct operation_total {
  std::uint64_t count{};  ///< calls: a collective of n members counts n
  std::uint64_t bytes{};  ///< the sum of the nodes' sizes
};

struct rank_summary {
  std::uint64_t nodes{}, edges{};
  std::uint64_t compute_ns{};
  std::uint64_t communication_ns{};  ///< from issue to resolution, added up
  std::uint64_t digest{};            ///< structural
};

struct graph_summary {
  std::uint32_t world{};
  graph_stage stage{};
  std::uint64_t nodes{};
  std::uint64_t edges{};  ///< those listed in `after`; a stream's own order is not counted
  std::array<operation_total, operation_count> operations{};  ///< [operation]
  std::vector<rank_summary> ranks;
  std::uint64_t digest{};  ///< structural, of the whole world
  traffic_matrix traffic;  ///< points into the communicators of what was summarised
};

/// What the reader refuses is its error.
result<graph_summary> summarize(prism_trace_reader& trace);
graph_summary summarize(const execution_graph& graph);

}  // namespace troupe
