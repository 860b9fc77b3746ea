// goal_conversion: `troupe convert` of a GOAL schedule: text to binary, binary to text.
#pragma once

#include <string>

namespace troupe {

struct goal_conversion {
  std::string in, out, json;
  bool quiet = false;
};

/// Returns the exit status; usage when OUT's ending is neither .goal nor .bin.
int convert_goal(const goal_conversion& what);

}  // namespace troupe
