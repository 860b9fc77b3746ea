// json_output: where a verb's --json object goes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "messages/error.hpp"

namespace troupe {

/// Whether write_json will be able to, asked before hours of work: makes the file if it is not
/// there. usage when it is one of the verb's own files, bad_input when it is no place to write.
result<void> check_json_place(const std::string& where, const std::vector<std::string>& own_files);

/// The same for a file that appears when it is whole (replacement_file.hpp): makes none.
result<void> check_place(const char* option, const std::string& where,
                         const std::vector<std::string>& own_files);

/// Writes the object to the file, or to standard output for "-"; nothing for "". bad_input when it
/// is no place to write, no_resources when it is full.
result<void> write_json(const std::string& where, const nlohmann::ordered_json& what);

}  // namespace troupe
