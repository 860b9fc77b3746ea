// json_output: where a verb's --json object goes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "messages/error.hpp"

namespace troupe {

/// Writes the object to the file, or to standard output for "-"; nothing for "". no_resources when
/// it cannot.
result<void> write_json(const std::string& where, const nlohmann::ordered_json& what);

}  // namespace troupe
