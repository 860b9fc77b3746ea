#include "actors/point_to_point.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

point_to_point::point_to_point(std::vector<rank_id> members, semantics rules, std::string name)
    : members_(std::move(members)), rules_(rules), name_(std::move(name)) {}

bool point_to_point::meets(const posted& send, const posted& recv) const {
  if (recv.call.root != any_source && static_cast<std::uint32_t>(recv.call.root) != send.group_rank)
    return false;
  return rules_ == semantics::nccl || send.call.tag == recv.call.tag;
}

bool point_to_point::is_member(std::int32_t group_rank) const {
  return group_rank >= 0 && static_cast<std::size_t>(group_rank) < members_.size();
}

std::string point_to_point::text(const posted& call) const {
  const bool sends = call.call.op == operation::send;
  const auto peer = call.call.root == any_source ? std::string{"any rank"}
                    : is_member(call.call.root)  ? fmt::format(
                           "rank {}", members_[static_cast<std::size_t>(call.call.root)].value)
                                                : fmt::format("group rank {}", call.call.root);
  return fmt::format("rank {} called {} {} {}{}{}", members_[call.group_rank].value,
                     describe(call.call), sends ? "to" : "from", peer,
                     call.call.tag ? fmt::format(" with tag {}", call.call.tag) : "",
                     call.call_site.empty() ? "" : " at " + call.call_site);
}

result<std::optional<point_to_point::match>> point_to_point::post(std::uint32_t group_rank,
                                                                  const collective_call& call,
                                                                  std::string call_site,
                                                                  ticket number,
                                                                  std::optional<ticket>& met) {
  met.reset();
  posted mine{number, group_rank, call, std::move(call_site)};
  if (auto valid = validate(call, group_rank, static_cast<std::uint32_t>(members_.size())); !valid)
    return error{valid.error().code,
                 fmt::format("{} in {}: {}", text(mine), name_, valid.error().context)};
  const bool sends = call.op == operation::send;
  const auto destination = sends ? static_cast<std::uint32_t>(call.root) : group_rank;
  auto& others = sends ? recvs_[destination] : sends_[destination];
  auto other = std::find_if(others.begin(), others.end(), [&](const posted& candidate) {
    return sends ? meets(mine, candidate) : meets(candidate, mine);
  });
  if (other == others.end()) {
    (sends ? sends_ : recvs_)[destination].push_back(std::move(mine));
    return std::optional<match>{};
  }
  const auto theirs = std::move(*other);
  others.erase(other);
  met = theirs.number;
  if (theirs.call.type != call.type || theirs.call.count != call.count)
    return error{errc::mismatch, fmt::format("a send and its recv differ in {}: {}, but {}", name_,
                                             text(mine), text(theirs))};
  return std::optional<match>{sends ? match{number, theirs.number, group_rank, destination}
                                    : match{theirs.number, number, theirs.group_rank, destination}};
}

std::vector<point_to_point::open_call> point_to_point::open() const {
  std::vector<open_call> all;
  for (auto* side : {&sends_, &recvs_})
    for (const auto& [destination, calls] : *side)
      for (const auto& call : calls)
        all.push_back({call.number, call.group_rank, call.call.root, describe(call.call),
                       text(call), call.call_site});
  std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.number < b.number; });
  return all;
}

void point_to_point::forget(ticket number) {
  for (auto* side : {&sends_, &recvs_})
    for (auto& [destination, calls] : *side)
      std::erase_if(calls, [&](const posted& call) { return call.number == number; });
}

std::vector<point_to_point::ticket> point_to_point::withdraw(std::uint32_t group_rank) {
  std::vector<ticket> gone;
  for (auto& [destination, calls] : recvs_)
    std::erase_if(calls, [&](const posted& call) {
      if (call.group_rank != group_rank) return false;
      gone.push_back(call.number);
      return true;
    });
  return gone;
}

}  // namespace troupe
