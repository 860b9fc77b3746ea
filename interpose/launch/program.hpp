// program: what a command line is: a Python script whose ranks can be forked from one parent, or
// anything else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "messages/error.hpp"

namespace troupe {

/// The file that `name` means, as execvp finds it. bad_input with what was looked for.
result<std::string> find_program(const std::string& name);

/// A direct `python [simple options] script.py args` or `python -m module args`.
struct python_program {
  std::vector<std::string> options;    ///< interpreter options, to be given again
  std::vector<std::string> arguments;  ///< ["script.py", …] or ["-m", "module", …]
};
std::optional<python_program> as_python(const std::vector<std::string>& command);

}  // namespace troupe
