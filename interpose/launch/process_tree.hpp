// process_tree: who descends from whom, read from /proc.
#pragma once

#include <sys/types.h>

#include <map>
#include <vector>

namespace troupe {

class process_tree {
 public:
  /// As of now. Processes come and go meanwhile: ask again until nothing is left.
  static process_tree read();
  std::vector<pid_t> children_of(pid_t parent) const;
  /// Parents before their children.
  std::vector<pid_t> descendants_of(pid_t ancestor) const;

 private:
  std::multimap<pid_t, pid_t> children_;
};

/// SIGKILLs and reaps every descendant of this process, a child subreaper, until none is left (or
/// ten seconds passed: a process the kernel does not let go of). Those that ignore SIGINT and
/// SIGTERM have a second to end by themselves once the others are gone.
void kill_descendants();

}  // namespace troupe
