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
    std::map<rank_id, std::vector<reason>> reasons;
    std::size_t known = 0;
    for (auto operation : wait.operations) {
      const auto caller = rank_of(wait.rank, companion_of(operation), world_);
      auto found = calls.find({caller, operation});
      if (found == calls.end()) continue;
      reasons[caller].push_back(found->second);
      ++known;
    }
    if (known == 0 || known < wait.operations.size()) continue;  // one may complete
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

bool wait_graph::can_go_on(rank_id lead) const {
  for (const auto& [caller, reasons] : reasons_.at(lead))
    for (const auto& why : reasons)
      if (can_complete(*why.operation)) return true;
  return false;
}

/// Null: it has called nothing itself, and waits with its process.
const wait_graph::reason* wait_graph::why(rank_id rank) const {
  const auto& of_process = reasons_.at(lead(rank));
  const auto own = of_process.find(rank);
  return own == of_process.end() ? nullptr : &own->second.front();
}

/// Whom a stuck rank waits for, who is stuck too; none: for ranks that have ended, or for anybody.
std::optional<rank_id> wait_graph::next(rank_id rank) const {
  const auto* own = why(rank);
  if (!own) return reasons_.at(lead(rank)).begin()->first;
  for (auto lacking : own->operation->lacking)
    if (is_stuck(lacking)) return lacking;
  return std::nullopt;
}

/// Who has called what is waited for for ever, ascending.
std::vector<rank_id> wait_graph::callers() const {
  std::vector<rank_id> all;
  for (auto lead : stuck_)
    for (const auto& [caller, reasons] : reasons_.at(lead)) all.push_back(caller);
  std::sort(all.begin(), all.end());
  return all;
}

/// A circle of ranks that wait for each other, its least rank first; empty when there is none.
std::vector<rank_id> wait_graph::circle() const {
  std::set<rank_id> seen;
  for (auto rank : callers()) {
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
  if (!all.empty()) return all;
  for (auto rank : callers())
    if (!next(rank)) all.push_back(rank);
  return all;
}

std::string wait_graph::sentence_of(const std::vector<rank_id>& named) const {
  constexpr std::size_t named_max = 8;
  const bool in_circle = next(named.front()).has_value();
  std::string text;
  for (std::size_t n = 0; n < named.size() && n < named_max; ++n) {
    text += n ? "; " : "";
    const auto* own = why(named[n]);
    if (!own) {
      text += fmt::format("rank {} calls nothing while its process waits with rank {}",
                          named[n].value, named[(n + 1) % named.size()].value);
      continue;
    }
    const auto& [operation, call] = *own;
    text += call->text;
    if (in_circle)
      text += fmt::format(" and waits for rank {}", named[(n + 1) % named.size()].value);
    else if (!operation->lacking.empty())
      text +=
          fmt::format(" and waits for rank {}{}", operation->lacking.front().value,
                      ended_.contains(lead(operation->lacking.front()))  ? ", which has ended"
                      : busy_.contains(lead(operation->lacking.front())) ? ", which calls nothing"
                                                                         : "");
  }
  if (named.size() > named_max) text += fmt::format("; and {} more", named.size() - named_max);
  const auto all = callers();
  const auto others = std::count_if(all.begin(), all.end(), [&](rank_id rank) {
    return std::find(named.begin(), named.end(), rank) == named.end();
  });
  if (others)
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
  const auto first = std::find_if(what.ranks.begin(), what.ranks.end(),
                                  [this](rank_id rank) { return why(rank) != nullptr; });
  what.communicator = why(*first)->operation->communicator;
  what.sequence = why(*first)->operation->sequence;
  std::sort(what.ranks.begin(), what.ranks.end());
  for (auto rank : what.ranks) {
    const auto* own = why(rank);
    what.operations.push_back(own ? own->operation->name : "");
    what.call_sites.push_back(own ? own->call->call_site : "");
  }
  return what;
}

}  // namespace troupe
