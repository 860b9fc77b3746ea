// schedule_builder: makes a schedule rank by rank, in the order of the ranks.
//
// In a rank, operations come in file order and dependencies at any time after both their ends. What
// it holds beside the schedule is one rank's dependencies.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "graph/goal/schedule.hpp"

namespace troupe::goal {

class schedule_builder {
 public:
  void begin_rank() { rank_begin_ = count(); }
  /// Returns its number within the rank.
  std::uint32_t add(const operation_description& what);
  /// `later` waits for the end (or only the start) of `earlier`: numbers within the rank.
  void depend(std::uint32_t later, std::uint32_t earlier, bool on_start) {
    pending_.push_back({earlier, dependent(later, on_start)});
  }
  std::uint32_t rank_size() const { return count() - rank_begin_; }
  std::uint32_t ranks() const { return schedule_.ranks(); }  ///< ended ones
  /// errc::no_resources: a limit is reached (checked once more operations or dependencies came).
  result<void> end_rank();
  /// After the last rank's end.
  schedule finish();

 private:
  struct edge {
    std::uint32_t earlier;
    dependent later;
  };
  std::uint32_t count() const {
    return static_cast<std::uint32_t>(schedule_.operations_.size() - 1);
  }
  std::uint32_t wide_tag(std::uint64_t tag);

  schedule schedule_;
  std::vector<edge> pending_;
  std::vector<std::uint32_t> place_;
  std::unordered_map<std::uint64_t, std::uint32_t> wide_;
  std::uint32_t rank_begin_ = 0;
  bool is_full_ = false;
};

}  // namespace troupe::goal
