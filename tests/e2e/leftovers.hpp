// leftovers: what a run may leave on the machine: processes, abstract sockets, shared memory,
// temporary files.
//
// Other runs of the same machine (tests in parallel) are told apart by whose processes hold them,
// or by the runner in the name.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

namespace troupe::e2e {

/// Made before a run; found() afterwards names what is there now and was not before.
class leftovers {
 public:
  leftovers();
  /// Waits for it to become empty until the deadline, then tells: "process 12 …", "socket
  /// @troupe-…", "file /dev/shm/…".
  std::vector<std::string> found(
      std::chrono::milliseconds deadline = std::chrono::seconds(30)) const;

 private:
  std::vector<std::string> look() const;

  std::set<std::string> files_before_;
};

}  // namespace troupe::e2e
