#include "gpu/reduction_tree.hpp"

#include <algorithm>

#include "messages/assert.hpp"

namespace troupe {

reduction_tree::reduction_tree(std::uint32_t members) : members_(members), arrived_(members) {
  TROUPE_ASSERT(members > 0);
  std::uint32_t width = (members - 1) / block + 1;
  for (std::uint32_t i = 0; i < width; ++i)
    missing_in_block_.push_back(std::min(block, members - i * block));
  for (;; width = (width + 1) / 2) {
    ready_.emplace_back(width);
    if (width == 1) break;
  }
}

std::vector<reduction_tree::step> reduction_tree::arrived(std::uint32_t group_rank) {
  TROUPE_ASSERT(group_rank < members_ && !arrived_[group_rank], group_rank, members_);
  arrived_[group_rank] = true;
  std::uint32_t position = group_rank / block;
  if (--missing_in_block_[position] > 0) return {};
  step whole{.into = position * block, .from = {}};
  auto end = std::min(whole.into + block, members_);
  for (auto member = whole.into + 1; member < end; ++member) whole.from.push_back(member);
  if (whole.from.empty()) return climb(0, position);
  return {std::move(whole)};
}

std::vector<reduction_tree::step> reduction_tree::folded(const step& done) {
  TROUPE_ASSERT(!done.from.empty() && done.from[0] > done.into && done.from[0] < members_,
                done.into);
  // The distance to the first source tells the level: within a block, or block × 2^level.
  std::uint32_t distance = done.from[0] - done.into, level = 0;
  if (distance >= block) {
    while ((block << level) < distance) ++level;
    ++level;
  }
  return climb(level, done.into / (block << level));
}

std::vector<reduction_tree::step> reduction_tree::climb(std::uint32_t level,
                                                        std::uint32_t position) {
  for (;; ++level, position /= 2) {
    TROUPE_ASSERT(!ready_[level][position], level, position);
    ready_[level][position] = true;
    auto width = static_cast<std::uint32_t>(ready_[level].size());
    if (width == 1) return {};
    std::uint32_t left = position & ~1u, right = left + 1;
    if (right == width) continue;  // nobody to its right: it stands for the pair
    if (!ready_[level][left] || !ready_[level][right]) return {};
    return {step{.into = left * (block << level), .from = {right * (block << level)}}};
  }
}

bool reduction_tree::folds_into_original(const step& next) const {
  return next.from[0] - next.into < block;
}

bool reduction_tree::folds_originals(const step& next) const {
  // A last member that is a block alone is folded first with another block's result.
  return folds_into_original(next) || (next.from[0] % block == 0 && next.from[0] + 1 == members_);
}

bool reduction_tree::complete() const { return ready_.back()[0]; }

}  // namespace troupe
