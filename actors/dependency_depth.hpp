// dependency_depth: how many collectives, each awaited before the next was called, lie behind a
// rank's next call.
//
// Between two depths every member must have run: that is what the least number of switches of a run
// follows from (run_tables.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "messages/ids.hpp"

namespace troupe {

class dependency_depth {
 public:
  std::uint32_t now() const { return now_; }

  /// A collective of this depth is resolved; it counts once it was awaited (before or after).
  void resolved(operation_id operation, std::uint32_t depth) { resolved_[operation] = depth; }
  void awaited(const std::vector<operation_id>& operations) {
    for (auto operation : operations) count(operation);
  }
  void taken_as_future(operation_id operation) { futures_.insert(operation); }
  /// The rank has waited for the futures it took.
  void synchronised() {
    for (auto operation : futures_) count(operation);
    futures_.clear();
  }

 private:
  void count(operation_id operation) {
    auto found = resolved_.extract(operation);
    if (!found.empty()) now_ = std::max(now_, found.mapped());
  }

  std::uint32_t now_ = 0;
  std::map<operation_id, std::uint32_t> resolved_;
  std::set<operation_id> futures_;
};

}  // namespace troupe
