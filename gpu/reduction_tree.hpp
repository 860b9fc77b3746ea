// reduction_tree: the one order in which the members of a group are folded, whatever the order of
// their arrival.
//
// Members are cut into blocks of `block` consecutive group ranks. A block is folded left to right
// once all its members are there; block results are folded as a binary tree (block 2k+1 into 2k,
// then pairs of pairs, …). So a sum depends on the group alone, and memory is free again early: a
// step needs only what has arrived. Not here: the arithmetic (backend.hpp), the memory, the
// workers.
#pragma once

#include <cstdint>
#include <vector>

namespace troupe {

class reduction_tree {
 public:
  static constexpr std::uint32_t block = 8;

  /// Fold `from`, in this order, into `into` (group ranks; `into` comes first in the order). The
  /// result is in the buffer of `into`; those of `from` are free once the step is done.
  struct step {
    std::uint32_t into{};
    std::vector<std::uint32_t> from;
    friend bool operator==(const step&, const step&) = default;
  };

  explicit reduction_tree(std::uint32_t members);

  /// Member `group_rank` is there (once each). The steps that can run now.
  std::vector<step> arrived(std::uint32_t group_rank);
  /// A step given out earlier is done. The steps that can run now.
  std::vector<step> folded(const step& done);
  /// Are the buffers of the step's `into` / of all its `from` as their members handed them in?
  bool folds_into_original(const step& next) const;
  bool folds_originals(const step& next) const;
  /// The whole result is in member 0's buffer (a group of one: as soon as it has arrived).
  bool complete() const;

 private:
  std::vector<step> climb(std::uint32_t level, std::uint32_t position);

  std::uint32_t members_;
  std::vector<bool> arrived_;
  std::vector<std::uint32_t> missing_in_block_;
  std::vector<std::vector<bool>> ready_;  // by level, then position
};

}  // namespace troupe
