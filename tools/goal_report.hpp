// goal_report: `troupe inspect` of a GOAL schedule: what it sends, computes and depends on.
#pragma once

#include <string>

namespace troupe {

struct goal_inspection {
  std::string file, json;
  bool traffic = false, ranks = false;
};

/// Returns the exit status.
int inspect_goal(const goal_inspection& what);

}  // namespace troupe
