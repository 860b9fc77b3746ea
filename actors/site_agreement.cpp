#include "actors/site_agreement.hpp"

#include <iterator>

namespace troupe {
namespace {

constexpr std::uint32_t unknown = ~0u;

bool is_rooted(operation op) {
  return op == operation::broadcast || op == operation::reduce || op == operation::gather
         || op == operation::scatter;
}

}  // namespace

site_agreement::site_number site_agreement::number_of(const std::string& name) {
  if (name.empty()) return unknown;
  if (auto found = numbers_.find(name); found != numbers_.end()) return found->second;
  if (sites_.size() >= sites_max) return unknown;
  const auto number = static_cast<site_number>(sites_.size());
  numbers_.emplace(name, number);
  sites_.emplace_back();
  return number;
}

std::optional<std::uint32_t> site_agreement::at_both(const site& one, const site& other) const {
  const bool by_role = (one.as_root && !one.as_other && other.as_other && !other.as_root)
                       || (other.as_root && !other.as_other && one.as_other && !one.as_root);
  if (by_role) return std::nullopt;
  for (auto member : one.callers)
    if (other.callers.contains(member)) return member;
  return std::nullopt;
}

std::optional<site_agreement::doubt> site_agreement::take(sequence_number sequence,
                                                          const std::vector<member_call>& calls) {
  bool anything_new = false;
  std::map<site_number, std::uint32_t> here;  // a member that calls there
  site_number last = unknown;
  for (std::uint32_t member = 0; member < calls.size(); ++member) {
    const auto& call = calls[member];
    if (member == 0 || call.call_site != calls[member - 1].call_site)
      last = number_of(call.call_site);
    if (last == unknown) continue;
    auto& place = sites_[last];
    const bool root =
        is_rooted(call.call.op) && call.call.root == static_cast<std::int32_t>(member);
    auto& role = root ? place.as_root : place.as_other;
    anything_new |= place.callers.insert(member).second || !role;
    role = true;
    here.try_emplace(last, member);
  }
  for (auto one = here.begin(); one != here.end(); ++one)
    for (auto other = std::next(one); other != here.end(); ++other) {
      const std::pair pair{one->first, other->first};
      if (told_.contains(pair)) continue;
      const caller first{one->second, calls[one->second]},
          second{other->second, calls[other->second]};
      anything_new |= met_.try_emplace(pair, meeting{sequence, first, second}).second;
    }
  if (!anything_new || met_.empty()) return std::nullopt;
  for (auto at = met_.begin(); at != met_.end(); ++at) {
    const auto pair = at->first;
    if (auto member = at_both(sites_[pair.first], sites_[pair.second])) {
      doubt found{at->second.sequence, at->second.one, at->second.other, *member};
      told_.insert(pair);
      met_.erase(at);
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace troupe
