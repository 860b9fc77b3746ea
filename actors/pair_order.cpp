#include "actors/pair_order.hpp"

#include <algorithm>

namespace troupe {

std::vector<std::uint32_t> pair_order::comes(std::uint32_t member, std::uint32_t peer) {
  if (told_ || member == peer || !known_.emplace(member, peer).second) return {};
  ahead_[member].push_back(peer);
  while (meet(member)) {
  }
  auto circle = circle_from(member);
  told_ = !circle.empty();
  return circle;
}

/// The member and the first it waits for meet, if that one waits for it first too; then the other
/// may meet its next, and so on.
bool pair_order::meet(std::uint32_t member) {
  auto& mine = ahead_[member];
  if (mine.empty()) return false;
  const auto peer = mine.front();
  auto& theirs = ahead_[peer];
  if (theirs.empty() || theirs.front() != member) return false;
  mine.pop_front();
  theirs.pop_front();
  while (meet(peer)) {
  }
  return true;
}

std::vector<std::uint32_t> pair_order::circle_from(std::uint32_t member) const {
  std::vector<std::uint32_t> path;
  for (auto at = member;;) {
    auto seen = std::find(path.begin(), path.end(), at);
    if (seen != path.end()) {
      path.erase(path.begin(), seen);
      return path;
    }
    path.push_back(at);
    auto ahead = ahead_.find(at);
    if (ahead == ahead_.end() || ahead->second.empty()) return {};
    at = ahead->second.front();
  }
}

}  // namespace troupe
