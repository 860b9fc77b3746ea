// goal_conversion: a GOAL schedule written as text or binary, and `troupe convert` of one.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "graph/goal/schedule.hpp"
#include "messages/error.hpp"

namespace troupe {

struct goal_conversion {
  std::string in, out, json;
  bool quiet = false;
};

/// Returns the exit status; usage when OUT's ending is neither .goal nor .bin.
int convert_goal(const goal_conversion& what);

/// Writes it to `path`, in the form of its ending (.bin, else text), whole or not at all. The
/// report: outcome, findings (none), output, format, world, operations, dependencies, output_bytes.
result<nlohmann::ordered_json> write_goal_file(const goal::schedule& what, const std::string& path);

/// What a person is told of such a report.
std::string closing_line(const nlohmann::ordered_json& report);

}  // namespace troupe
