// program: what a command line starts: found in PATH, and whether it is a Python script that can be
// forked.
#pragma once

#include <string>
#include <vector>

#include "messages/error.hpp"

namespace troupe {

struct program {
  std::string path;                    ///< of the executable
  std::vector<std::string> arguments;  ///< as typed, from argv[0] on
  /// `python [simple options] script.py …` or `… -m module …`: where the script's or module's part
  /// begins in arguments. 0: anything else.
  std::size_t script_at = 0;
};

/// bad_input says where it was looked for.
result<program> find_program(const std::vector<std::string>& command);

}  // namespace troupe
