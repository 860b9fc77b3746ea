#include "interpose/nccl/meeting.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <span>

#include "interpose/client/troupe_client.h"

namespace troupe {
namespace {

error failed(int status) { return {static_cast<errc>(status), troupe_error()}; }

result<std::string> get(const std::string& key) {
  void* value = nullptr;
  std::uint64_t size = 0;
  if (int status = troupe_store_get(key.c_str(), 0, &value, &size)) return failed(status);
  std::string text(static_cast<const char*>(value), size);
  std::free(value);
  return text;
}

std::vector<meeting_member> members_in(const std::string& bytes) {
  std::vector<meeting_member> all(bytes.size() / sizeof(meeting_member));
  std::memcpy(all.data(), bytes.data(), all.size() * sizeof(meeting_member));
  return all;
}

/// Of one colour, in the order of the new group.
std::vector<meeting_member> group_of(const std::vector<meeting_member>& all, std::int32_t color) {
  std::vector<meeting_member> group;
  for (const auto& one : all)
    if (one.color == color) group.push_back(one);
  std::sort(group.begin(), group.end(), [](const auto& a, const auto& b) {
    return std::pair{a.key, a.rank} < std::pair{b.key, b.rank};
  });
  return group;
}

constexpr char wrong_mark = '!';

}  // namespace

result<meeting> meeting::announce(std::string key, const meeting_member& me) {
  meeting made(std::move(key), me);
  std::int64_t present = 0;
  if (int status = troupe_store_append((made.key_ + "/members").c_str(), &me, sizeof me))
    return failed(status);
  if (int status = troupe_store_add((made.key_ + "/count").c_str(), 1, &present))
    return failed(status);
  if (present != static_cast<std::int64_t>(me.size)) return made;
  TROUPE_TRY(bytes, get(made.key_ + "/members"));
  const auto outcome = outcome_of(members_in(bytes));
  if (int status = troupe_store_set((made.key_ + "/ready").c_str(), outcome.data(), outcome.size()))
    return failed(status);
  return made;
}

/// "color:ordinal …" for each colour, or what is wrong.
std::string meeting::outcome_of(const std::vector<meeting_member>& all) {
  const auto wrong = [](const std::string& why) { return wrong_mark + why; };
  std::set<std::uint32_t> ranks, logical_ranks;
  std::set<std::int32_t> colors;
  for (const auto& one : all) {
    if (one.size != all.front().size)
      return wrong("its ranks say that it has " + std::to_string(all.front().size) + " and "
                   + std::to_string(one.size) + " members");
    if (!ranks.insert(one.rank).second)
      return wrong("two members are rank " + std::to_string(one.rank));
    if (!logical_ranks.insert(one.logical_rank).second)
      return wrong("two members are rank " + std::to_string(one.logical_rank)
                   + " of the run: each device of a process that is a member must be a rank");
    if (one.color >= 0) colors.insert(one.color);
  }
  std::string outcome;
  for (auto color : colors) {
    std::string key = "nccl/ordinals";
    for (const auto& one : group_of(all, color)) key += "." + std::to_string(one.logical_rank);
    std::int64_t ordinal = 0;
    troupe_store_add(key.c_str(), 1, &ordinal);
    outcome += std::to_string(color) + ":" + std::to_string(ordinal) + " ";
  }
  return outcome;
}

result<bool> meeting::is_ready() const {
  const auto key = key_ + "/ready";
  const char* keys[] = {key.c_str()};
  int present = 0;
  if (int status = troupe_store_check(keys, 1, &present)) return failed(status);
  return present != 0;
}

result<new_group> meeting::await() const {
  TROUPE_TRY(outcome, get(key_ + "/ready"));
  if (outcome.starts_with(wrong_mark)) return error{errc::bad_input, outcome.substr(1)};
  new_group mine;
  if (me_.color < 0) return mine;
  TROUPE_TRY(bytes, get(key_ + "/members"));
  for (const auto& one : group_of(members_in(bytes), me_.color)) {
    if (one.rank == me_.rank) mine.rank = static_cast<std::uint32_t>(mine.members.size());
    mine.members.push_back(one.logical_rank);
  }
  const auto mark = std::to_string(me_.color) + ":";
  const auto at = (" " + outcome).find(" " + mark);
  mine.ordinal =
      static_cast<std::uint32_t>(std::strtoul(outcome.c_str() + at + mark.size(), nullptr, 10));
  return mine;
}

}  // namespace troupe
