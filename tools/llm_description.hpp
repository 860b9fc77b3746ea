// llm_description: the model that `troupe generate llm` is given: a built-in one's name, or a YAML
// file of settings.
//
// A file is a map: `model` and `device` name built-in ones to begin with, every other key is a
// setting (graph/workload/llm_settings.hpp); layers-per-stage may be a list.
#pragma once

#include <string>

#include "graph/workload/llm_options.hpp"
#include "messages/error.hpp"

namespace troupe {

/// Does it name a file, not a built-in model?
bool is_description_file(const std::string& model);

/// errc::usage: no such model. errc::bad_input: of a file, with line and column.
result<workload::llm_options> read_llm_description(const std::string& model);

}  // namespace troupe
