#include "actors/group_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

group_findings::concerned group_findings::caller(std::uint32_t group_rank,
                                                 const collective_call& call,
                                                 const std::string& site) {
  return {group_rank, describe(call), site};
}

std::string group_findings::name_ranks(const std::vector<std::uint32_t>& group_ranks) const {
  constexpr std::size_t named_max = 8;
  std::string text = group_ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t n = 0; n < group_ranks.size() && n < named_max; ++n)
    text += fmt::format("{}{}", n ? ", " : "", member(group_ranks[n]).value);
  if (group_ranks.size() > named_max)
    text += fmt::format(" and {} more", group_ranks.size() - named_max);
  return text;
}

finding group_findings::of(const error& why, sequence_number sequence,
                           std::vector<concerned> who) const {
  finding what;
  what.kind = why.code;
  what.communicator = id_;
  what.sequence = sequence;
  what.text = why.context;
  std::sort(who.begin(), who.end(),
            [this](auto& a, auto& b) { return member(a.group_rank) < member(b.group_rank); });
  for (auto& one : who) {
    what.ranks.push_back(member(one.group_rank));
    if (one.operation.empty()) continue;
    what.operations.push_back(std::move(one.operation));
    what.call_sites.push_back(std::move(one.call_site));
  }
  return what;
}

error group_findings::lack_of(const error& cause, sequence_number sequence) const {
  std::vector<std::uint32_t> joined;
  std::string operation = "a collective";
  for (const auto& open : calls_.open())
    if (open.sequence == sequence) {
      joined = open.joined;
      operation = open.operation;
    }
  return {cause.code == errc::none ? errc::mismatch : cause.code,
          fmt::format("{}; {} number {} of {} lacks it, {} wait{}", cause.context, operation,
                      sequence.value, calls_.name(), name_ranks(joined),
                      joined.size() == 1 ? "s" : "")};
}

std::optional<finding> group_findings::complete(sequence_number sequence,
                                                const std::vector<member_call>& calls) {
  const auto doubt = sites_.take(sequence, calls);
  if (!doubt) return std::nullopt;
  auto where = [&](const site_agreement::caller& of) {
    return calls_.describe_join(of.group_rank, doubt->sequence, of.call);
  };
  finding what;
  what.kind = errc::mismatch;
  what.communicator = id_;
  what.sequence = doubt->sequence;
  for (const auto* of : {&doubt->one, &doubt->other}) {
    what.ranks.push_back(member(of->group_rank));
    what.operations.push_back(describe(of->call.call));
    what.call_sites.push_back(of->call.call_site);
  }
  what.text = fmt::format(
      "suspected mismatch: {}, but {}, and rank {} calls at both places: was a call swapped, "
      "skipped or made twice?",
      where(doubt->one), where(doubt->other), member(doubt->at_both).value);
  return what;
}

std::optional<finding> group_findings::unbatched(std::uint32_t group_rank,
                                                 const collective_call& call,
                                                 const std::string& call_site) {
  if (calls_.members().size() <= 2 || call.root < 0) return std::nullopt;
  const auto circle = pairs_.comes(group_rank, static_cast<std::uint32_t>(call.root));
  if (std::exchange(warned_of_unbatched_, true) && circle.empty()) return std::nullopt;
  finding what;
  what.kind = errc::deadlock;
  what.communicator = id_;
  what.operations = {describe(call)};
  what.call_sites = {call_site};
  const auto caller =
      fmt::format("rank {} called {} of {}{}", member(group_rank).value, what.operations.front(),
                  calls_.name(), call_site.empty() ? "" : " at " + call_site);
  if (circle.empty()) {
    what.ranks = {member(group_rank)};
    what.text = caller
                + " outside of batch_isend_irecv: NCCL makes a communicator for each pair of "
                  "ranks at the first such message, which hangs where ranks come to each other "
                  "in orders that do not fit";
    return what;
  }
  std::string ranks;
  for (auto one : circle) {
    what.cycle.push_back(member(one));
    ranks += fmt::format("rank {} to ", member(one).value);
  }
  what.ranks = what.cycle;
  std::sort(what.ranks.begin(), what.ranks.end());
  what.text = fmt::format(
      "suspected deadlock: {}, and ranks come to each other first in a circle ({}rank {}): NCCL "
      "makes a communicator for each pair at its first message outside of batch_isend_irecv, and "
      "each would wait for the next",
      caller, ranks, what.cycle.front().value);
  return what;
}

}  // namespace troupe
