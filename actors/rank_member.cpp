#include "actors/rank_member.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

opened_group* rank_member::group(communicator_id communicator) {
  auto found = groups.find(communicator);
  return found == groups.end() ? nullptr : &found->second;
}

std::optional<node> rank_member::node_of(const to_troupe::issue& call, opened_group& group,
                                         std::uint32_t call_site) {
  const auto& what = call.call;
  if (!validate(what, group.group_rank, group.size)) return std::nullopt;
  const auto given = input_count(what, group.group_rank, group.size);
  node made;
  made.kind = what.op == operation::send   ? node_kind::send
              : what.op == operation::recv ? node_kind::recv
                                           : node_kind::collective;
  made.stream = group.stream;
  made.op = what.op;
  made.type = what.type;
  made.reduce = what.reduce;
  made.communicator = group.index;
  made.sequence = is_point_to_point(what.op) ? ++group.messages[{what.op, what.root, what.tag}]
                                             : call.sequence.value;
  made.size =
      (given ? given : output_count(what, group.group_rank, group.size)) * size_of(what.type);
  made.peer = what.root;
  made.tag = what.tag;
  made.call_site = call_site;
  return made;
}

rank_members::rank_members(rank_id lead, std::uint32_t processes)
    : lead_(lead), processes_(processes) {
  members_.try_emplace(0, lead, 0).first->second.graph.blocked(0);
}

rank_member* rank_members::of(companion_number companion) {
  auto found = members_.find(companion);
  return found == members_.end() ? nullptr : &found->second;
}

rank_member& rank_members::enter(companion_number companion, std::uint64_t now_ns) {
  auto [at, fresh] = members_.try_emplace(companion, number(companion), now_ns);
  if (fresh && !runs_) at->second.graph.blocked(now_ns);
  return at->second;
}

std::string rank_members::misfit(const to_troupe::open_communicator& wanted) const {
  const auto me = number(wanted.companion);
  const auto& all = wanted.members;
  if (std::find(all.begin(), all.end(), me) == all.end())
    return fmt::format("rank {} opens communicator {}, of which it is no member", me.value,
                       wanted.name);
  for (auto member : all)
    if (member.value >= logical_ranks_max)
      return fmt::format("communicator {} has a rank {}: a run has at most {}", wanted.name,
                         member.value, logical_ranks_max);
  return {};
}

void rank_members::blocked(std::uint64_t at_ns) {
  runs_ = false;
  for (auto& [companion, member] : members_) member.graph.blocked(at_ns);
}

void rank_members::resumed(std::uint64_t at_ns) {
  runs_ = true;
  for (auto& [companion, member] : members_) member.graph.resumed(at_ns);
}

void rank_members::awaited(const std::vector<operation_id>& operations, std::uint64_t at_ns) {
  for (auto& [companion, member] : members_) {
    std::vector<operation_id> its;
    for (auto operation : operations)
      if (companion_of(operation) == companion) its.push_back(operation);
    if (!its.empty()) member.graph.awaited(its, at_ns);
  }
}

void rank_members::ended(std::uint64_t at_ns) {
  for (auto& [companion, member] : members_) member.graph.ended(at_ns);
}

std::vector<rank_id> rank_members::companions() const {
  std::vector<rank_id> all;
  for (const auto& [companion, member] : members_)
    if (companion != 0) all.push_back(member.me);
  return all;
}

std::vector<std::pair<rank_id, std::vector<node>>> rank_members::take() {
  std::vector<std::pair<rank_id, std::vector<node>>> all;
  for (auto& [companion, member] : members_)
    if (auto nodes = member.graph.take(); !nodes.empty())
      all.emplace_back(member.me, std::move(nodes));
  return all;
}

}  // namespace troupe
