// goal_input: a GOAL file that a verb was given, and how its errors are told.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "graph/goal/schedule.hpp"
#include "messages/error.hpp"

namespace troupe {

/// Is it a GOAL file, text or binary? False also where it cannot be read: others say why.
bool is_goal_file(const std::string& path);

/// Reads it. Each problem of a text is a line on standard error, "troupe VERB: FILE:3:5: expected
/// …", and an entry of `findings`; so is any other error.
result<goal::schedule> read_goal(const std::string& verb, const std::string& path,
                                 nlohmann::ordered_json& findings);

}  // namespace troupe
