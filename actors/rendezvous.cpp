#include "actors/rendezvous.hpp"

#include <fmt/format.h>

#include "messages/assert.hpp"

namespace troupe {

rendezvous::rendezvous(std::vector<rank_id> members, std::string name)
    : members_(std::move(members)), name_(std::move(name)) {}

std::string rendezvous::describe_join(std::uint32_t group_rank, sequence_number sequence,
                                      const member_call& call) const {
  return fmt::format("rank {} called {} as number {} of {}{}", members_[group_rank].value,
                     describe(call.call), sequence.value, name_,
                     call.call_site.empty() ? "" : " at " + call.call_site);
}

std::optional<error> rendezvous::disagreement(sequence_number sequence, std::uint32_t group_rank,
                                              const member_call& call,
                                              const meeting& so_far) const {
  const auto& first = *so_far.calls[so_far.first];
  auto differ = [&](const char* what) {
    return error{errc::mismatch, fmt::format("{} differ: {}, but {}", what,
                                             describe_join(group_rank, sequence, call),
                                             describe_join(so_far.first, sequence, first))};
  };
  const auto &mine = call.call, &theirs = first.call;
  if (mine.op != theirs.op) return differ("operations");
  if (mine.op == operation::barrier) return std::nullopt;
  if (mine.type != theirs.type) return differ("element types");
  if (reduces(mine.op) && mine.reduce != theirs.reduce) return differ("reductions");
  const bool rooted = mine.op == operation::broadcast || mine.op == operation::reduce
                      || mine.op == operation::gather || mine.op == operation::scatter;
  if (rooted && mine.root != theirs.root) return differ("roots");
  if (mine.op != operation::all_to_all && mine.count != theirs.count) return differ("sizes");
  return std::nullopt;
}

std::optional<error> rendezvous::split_disagreement(sequence_number sequence, const meeting& all) {
  const auto size = static_cast<std::uint32_t>(members_.size());
  auto sends = [&](std::uint32_t from, std::uint32_t to) {
    const auto& call = all.calls[from]->call;
    return call.send_counts.empty() ? call.count / size : call.send_counts[to];
  };
  auto expects = [&](std::uint32_t at, std::uint32_t from) {
    const auto& call = all.calls[at]->call;
    return call.recv_counts.empty() ? call.count / size : call.recv_counts[from];
  };
  for (std::uint32_t from = 0; from < size; ++from)
    for (std::uint32_t to = 0; to < size; ++to)
      if (sends(from, to) != expects(to, from)) {
        disagreed_ = {{from, *all.calls[from]}, {to, *all.calls[to]}};
        return error{
            errc::mismatch,
            fmt::format(
                "splits differ: rank {} sends {} elements to rank {}, which expects {}: {}, but {}",
                members_[from].value, sends(from, to), members_[to].value, expects(to, from),
                describe_join(from, sequence, *all.calls[from]),
                describe_join(to, sequence, *all.calls[to]))};
      }
  return std::nullopt;
}

result<rendezvous::joined> rendezvous::join(std::uint32_t group_rank, sequence_number sequence,
                                            member_call call) {
  if (auto failed = failed_.find(sequence); failed != failed_.end()) return failed->second;
  if (auto open = open_.find(sequence); open != open_.end() && open->second.calls[group_rank]) {
    disagreed_ = {{group_rank, call}};
    return error{errc::bad_input, fmt::format("{}, which it has joined already",
                                              describe_join(group_rank, sequence, call))};
  }
  auto refuse = [&](error why) {
    disagreed_ = {{group_rank, call}};
    fail(sequence, why);
    return why;
  };
  const auto size = static_cast<std::uint32_t>(members_.size());
  if (auto valid = validate(call.call, group_rank, size); !valid)
    return refuse(
        {valid.error().code,
         fmt::format("{}: {}", describe_join(group_rank, sequence, call), valid.error().context)});
  auto [at, fresh] = open_.try_emplace(sequence);
  auto& meeting = at->second;
  if (fresh) {
    meeting.calls.resize(size);
    meeting.first = group_rank;
  } else if (auto why = disagreement(sequence, group_rank, call, meeting)) {
    const auto first = std::pair{meeting.first, *meeting.calls[meeting.first]};
    auto refused = refuse(*why);
    disagreed_.push_back(first);
    return refused;
  }
  const bool splits = call.call.op == operation::all_to_all;
  meeting.calls[group_rank] = std::move(call);
  if (++meeting.present < size) return joined::waiting;
  if (splits)
    if (auto why = split_disagreement(sequence, meeting)) {
      fail(sequence, *why);
      return *why;
    }
  return joined::complete;
}

std::vector<member_call> rendezvous::take(sequence_number sequence) {
  auto found = open_.extract(sequence);
  TROUPE_ASSERT(!found.empty(), name_, sequence.value);
  std::vector<member_call> calls;
  calls.reserve(members_.size());
  for (auto& call : found.mapped().calls) calls.push_back(std::move(*call));
  return calls;
}

void rendezvous::fail(sequence_number sequence, error why) {
  open_.erase(sequence);
  failed_.try_emplace(sequence, std::move(why));
}

std::vector<rendezvous::open_sequence> rendezvous::open() const {
  std::vector<open_sequence> all;
  for (const auto& [sequence, meeting] : open_) {
    if (meeting.present == members_.size()) continue;
    open_sequence entry{sequence, describe(meeting.calls[meeting.first]->call), {}, {}, {}};
    for (std::uint32_t member = 0; member < members_.size(); ++member) {
      (meeting.calls[member] ? entry.joined : entry.missing).push_back(member);
      if (meeting.calls[member]) entry.calls.push_back(&*meeting.calls[member]);
    }
    all.push_back(std::move(entry));
  }
  return all;
}

std::vector<sequence_number> rendezvous::missing(std::uint32_t group_rank) const {
  std::vector<sequence_number> all;
  for (const auto& [sequence, meeting] : open_)
    if (!meeting.calls[group_rank]) all.push_back(sequence);
  return all;
}

}  // namespace troupe
