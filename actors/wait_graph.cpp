#include "actors/wait_graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "messages/assert.hpp"

namespace troupe {

wait_graph::wait_graph(std::uint32_t world, const std::vector<rank_wait>& waits,
                       const std::set<rank_id>& ended, std::vector<open_operation> open,
                       const std::set<rank_id>& busy)
    : world_(world), ended_(ended), busy_(busy), open_(std::move(open)) {
  std::map<std::pair<rank_id, operation_id>, reason> calls;
  for (const auto& operation : open_)
    for (const auto& call : operation.callers)
      calls.insert_or_assign({call.rank, call.operation}, reason{&operation, &call});
  for (const auto& wait : waits) {
    std::vector<reason> reasons;
    for (auto operation : wait.operations)
      if (auto found = calls.find({wait.rank, operation}); found != calls.end())
        reasons.push_back(found->second);
    if (reasons.empty() || reasons.size() < wait.operations.size()) continue;  // one may complete
    stuck_.insert(wait.rank);
    reasons_.emplace(wait.rank, std::move(reasons));
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (auto rank = stuck_.begin(); rank != stuck_.end();)
      if (can_go_on(*rank)) {
        rank = stuck_.erase(rank);
        changed = true;
      } else {
        ++rank;
      }
  }
}

bool wait_graph::can_complete(const open_operation& operation) const {
  if (operation.fails_soon) return true;
  auto acts = [this](rank_id rank) { return this->acts(rank); };
  const auto& lacking = operation.lacking;
  if (!operation.one_suffices) return std::all_of(lacking.begin(), lacking.end(), acts);
  if (!lacking.empty()) return std::any_of(lacking.begin(), lacking.end(), acts);
  for (std::uint32_t n = 0; n < world_; ++n)
    if (acts({n})) return true;
  return false;
}

bool wait_graph::can_go_on(rank_id rank) const {
  const auto& reasons = reasons_.at(rank);
  return std::any_of(reasons.begin(), reasons.end(),
                     [this](const reason& why) { return can_complete(*why.operation); });
}

const wait_graph::reason& wait_graph::why(rank_id rank) const { return reasons_.at(rank).front(); }

/// Whom a stuck rank waits for, who is stuck too; none: for ranks that have ended, or for anybody.
std::optional<rank_id> wait_graph::next(rank_id rank) const {
  for (auto lacking : why(rank).operation->lacking)
    if (stuck_.contains(lacking)) return lacking;
  return std::nullopt;
}

/// A circle of ranks that wait for each other, its least rank first; empty when there is none.
std::vector<rank_id> wait_graph::circle() const {
  std::set<rank_id> seen;
  for (auto rank : stuck_) {
    std::vector<rank_id> path;
    for (std::optional<rank_id> at = rank; at; at = next(*at)) {
      auto begin = std::find(path.begin(), path.end(), *at);
      if (begin != path.end()) {
        path.erase(path.begin(), begin);
        std::rotate(path.begin(), std::min_element(path.begin(), path.end()), path.end());
        return path;
      }
      if (!seen.insert(*at).second) break;
      path.push_back(*at);
    }
  }
  return {};
}

/// The circle, or those who wait for nobody that is stuck.
std::vector<rank_id> wait_graph::named() const {
  auto all = circle();
  if (all.empty())
    std::copy_if(stuck_.begin(), stuck_.end(), std::back_inserter(all),
                 [this](rank_id rank) { return !next(rank); });
  return all;
}

std::string wait_graph::sentence_of(const std::vector<rank_id>& named) const {
  constexpr std::size_t named_max = 8;
  const bool in_circle = next(named.front()).has_value();
  std::string text;
  for (std::size_t n = 0; n < named.size() && n < named_max; ++n) {
    const auto& [operation, call] = why(named[n]);
    text += (n ? "; " : "") + call->text;
    if (in_circle)
      text += fmt::format(" and waits for rank {}", named[(n + 1) % named.size()].value);
    else if (!operation->lacking.empty())
      text += fmt::format(" and waits for rank {}{}", operation->lacking.front().value,
                          ended_.contains(operation->lacking.front())  ? ", which has ended"
                          : busy_.contains(operation->lacking.front()) ? ", which calls nothing"
                                                                       : "");
  }
  if (named.size() > named_max) text += fmt::format("; and {} more", named.size() - named_max);
  if (const auto others = stuck_.size() - named.size())
    text += fmt::format("; {} other rank{} wait{} behind", others, others == 1 ? "" : "s",
                        others == 1 ? "s" : "");
  return text;
}

finding wait_graph::describe() const {
  TROUPE_ASSERT(!stuck_.empty());
  finding what;
  what.kind = errc::deadlock;
  what.ranks = named();
  if (next(what.ranks.front())) what.cycle = what.ranks;
  what.text = what.cycle.empty()       ? "nobody can do what is waited for: "
              : what.cycle.size() == 1 ? "a rank waits for itself for ever: "
                                       : "ranks wait for each other for ever: ";
  what.text += sentence_of(what.ranks);
  what.communicator = why(what.ranks.front()).operation->communicator;
  what.sequence = why(what.ranks.front()).operation->sequence;
  std::sort(what.ranks.begin(), what.ranks.end());
  for (auto rank : what.ranks) {
    what.operations.push_back(why(rank).operation->name);
    what.call_sites.push_back(why(rank).call->call_site);
  }
  return what;
}

}  // namespace troupe
