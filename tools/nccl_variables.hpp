// nccl_variables: NCCL's variables of this process' environment.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// Names and values of all that begin with NCCL_.
std::vector<std::pair<std::string, std::string>> nccl_variables();

}  // namespace troupe
