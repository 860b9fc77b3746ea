// inspect_report: what `troupe inspect` found, as DESIGN's object of --json and as text for a
// person.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "graph/graph_summary.hpp"
#include "graph/prism_trace_reader.hpp"

namespace troupe {

/// At most this many pairs stand in the object; of more the largest, and `traffic_left_out` counts
/// the rest.
constexpr std::size_t json_traffic_pairs_max = 1u << 20;

nlohmann::ordered_json to_json(const prism_trace_reader& trace, const graph_summary& summary);

std::string overview_text(const prism_trace_reader& trace, const graph_summary& summary);
/// Up to 32 ranks the whole matrix; beyond, sums over blocks of ranks and the largest pairs.
std::string traffic_text(const graph_summary& summary);
std::string ranks_text(const graph_summary& summary);

/// "1.50 GiB"
std::string human_bytes(std::uint64_t bytes);
/// "12.3 ms"
std::string human_ns(std::uint64_t ns);

}  // namespace troupe
