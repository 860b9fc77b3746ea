#include "actors/quiet_ranks.hpp"

#include <algorithm>

namespace troupe {

void quiet_ranks::saw(nanos now, rank_id rank, const rank_progress& progress) {
  auto [at, fresh] = ranks_.try_emplace(rank);
  auto& of = at->second;
  if (fresh || of.calls != progress.calls) of.since = now;
  const bool polls = !fresh && of.polls != progress.polls;
  of.waits_for = !progress.waits_on.empty() ? progress.waits_on
                 : polls                    ? progress.pending
                                            : std::vector<operation_id>{};
  of.calls = progress.calls;
  of.polls = progress.polls;
}

std::vector<rank_wait> quiet_ranks::due(nanos now) const {
  std::vector<rank_wait> all;
  if (now < next_) return all;
  for (const auto& [rank, of] : ranks_)
    if (now - of.since >= doubtful_ && !of.waits_for.empty())
      all.push_back({rank, of.waits_for, {}, false});
  return all;
}

bool quiet_ranks::all_quiet(nanos now, std::set<rank_id>& outside) const {
  for (const auto& [rank, of] : ranks_) {
    if (now - of.since < quiet_) return false;
    if (of.waits_for.empty()) outside.insert(rank);
  }
  return !ranks_.empty();
}

nanos quiet_ranks::quiet_for(nanos now, const std::set<rank_id>& ranks) const {
  nanos least = nanos::max();
  for (auto rank : ranks)
    if (auto found = ranks_.find(rank); found != ranks_.end())
      least = std::min(least, now - found->second.since);
  return least;
}

void quiet_ranks::looked(nanos now, bool said) {
  if (!said) {
    next_ = now + doubtful_ / 10;
    return;
  }
  nanos longest{};
  for (const auto& [rank, of] : ranks_)
    if (!of.waits_for.empty()) longest = std::max(longest, now - of.since);
  next_ = now + std::max(longest, doubtful_);
}

}  // namespace troupe
