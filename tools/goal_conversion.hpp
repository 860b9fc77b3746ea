// goal_conversion: a schedule written as GOAL text or binary, or as a PrismTrace, and `troupe
// convert` of what is or becomes one.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "graph/goal/schedule.hpp"
#include "messages/error.hpp"
#include "tools/schedule_input.hpp"

namespace troupe {

struct goal_conversion {
  std::string in, out, json;
  expansion_choice choice = {};
  bool quiet = false;
};

/// Returns the exit status; usage when OUT's ending is not .goal, .bin or, of a GOAL schedule,
/// .prism.
int convert_goal(const goal_conversion& what);

/// Writes it to `path`, in the form of its ending (.bin, else text), whole or not at all. The
/// report: outcome, findings (none), output, format, world, operations, dependencies, output_bytes.
result<nlohmann::ordered_json> write_goal_file(const goal::schedule& what, const std::string& path);

/// Writes it as a PrismTrace, one node an operation (graph/goal/schedule_graph.hpp). `from`: what
/// it was read from, for errors and the trace's metadata. A report of the same form.
result<nlohmann::ordered_json> write_graph_file(const goal::schedule& what, const std::string& from,
                                                const std::string& path);

/// What a person is told of such a report.
std::string closing_line(const nlohmann::ordered_json& report);

}  // namespace troupe
