// subprocess: another program run to its end, without a shell, its output kept.
//
// Its standard input is empty, its environment ours.
#pragma once

#include <string>
#include <vector>

#include "messages/error.hpp"

namespace troupe {

struct finished_process {
  int status{};  ///< the exit status, or 128 + the signal that ended it
  std::string output, errors;
};

/// The program is found in PATH, as a shell finds it. bad_input when it cannot be executed.
result<finished_process> run_to_end(const std::vector<std::string>& command);

}  // namespace troupe
