#include "interpose/nccl/meeting.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

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

std::vector<meeting_member> members_in(std::string_view bytes) {
  std::vector<meeting_member> all(bytes.size() / sizeof(meeting_member));
  std::memcpy(all.data(), bytes.data(), all.size() * sizeof(meeting_member));
  return all;
}

std::uint32_t logical_rank(const meeting_member& one) {
  return troupe_companion(one.process, static_cast<std::uint32_t>(one.companion));
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

/// Places among this process' ranks that are known, by device.
class known_places {
 public:
  static known_places& of_this_process() {
    static auto* only = new known_places;
    return *only;
  }
  std::int32_t of(std::int32_t device) {
    const std::lock_guard hold(lock_);
    const auto found = places_.find(device);
    return found == places_.end() ? -1 : found->second;
  }
  void note(const std::vector<meeting_member>& all) {
    const std::lock_guard hold(lock_);
    for (const auto& one : all)
      if (one.process == troupe_rank()) places_[one.device] = one.companion;
  }

 private:
  std::mutex lock_;
  std::map<std::int32_t, std::int32_t> places_;
};

/// The device's place among its process' ranks: the next, if it has none.
result<std::int32_t> place_of(std::uint32_t process, std::int32_t device) {
  const auto all = "nccl/ranks." + std::to_string(process);
  const auto own = all + "." + std::to_string(device);
  const char* keys[] = {own.c_str()};
  int present = 0;
  if (int status = troupe_store_check(keys, 1, &present)) return failed(status);
  std::string place;
  if (present) {
    TROUPE_TRY(text, get(own));
    place = text;
  } else {
    std::int64_t count = 0;
    if (int status = troupe_store_add(all.c_str(), 1, &count)) return failed(status);
    const auto next = std::to_string(count - 1);
    void* value = nullptr;
    std::uint64_t size = 0;
    if (int status = troupe_store_compare_set(own.c_str(), nullptr, 0, next.data(), next.size(),
                                              &value, &size))
      return failed(status);  // another meeting of it may have been faster
    place.assign(static_cast<const char*>(value), size);
    std::free(value);
  }
  return static_cast<std::int32_t>(std::strtol(place.c_str(), nullptr, 10));
}

constexpr char wrong_mark = '!';

/// What is wrong with members that would meet; empty: nothing.
std::string misfit(const std::vector<meeting_member>& all) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::uint32_t> devices;
  std::set<std::uint32_t> ranks;
  for (const auto& one : all) {
    if (one.size != all.front().size)
      return "its ranks say that it has " + std::to_string(all.front().size) + " and "
             + std::to_string(one.size) + " members";
    if (!ranks.insert(one.rank).second) return "two members are rank " + std::to_string(one.rank);
    const auto [other, fresh] = devices.try_emplace({one.host, one.device}, one.rank);
    if (!fresh)
      return "Duplicate GPU detected: rank " + std::to_string(std::min(other->second, one.rank))
             + " and rank " + std::to_string(std::max(other->second, one.rank))
             + " both on CUDA device " + std::to_string(one.device)
             + (one.host ? " of host " + std::to_string(one.host) : "");
  }
  return {};
}

}  // namespace

result<meeting> meeting::announce(std::string key, meeting_member me) {
  me.companion = known_places::of_this_process().of(me.device);
  meeting made(std::move(key), me);
  std::int64_t present = 0;
  if (int status = troupe_store_append((made.key_ + "/members").c_str(), &me, sizeof me))
    return failed(status);
  if (int status = troupe_store_add((made.key_ + "/count").c_str(), 1, &present))
    return failed(status);
  if (present != static_cast<std::int64_t>(me.size)) return made;
  TROUPE_TRY(bytes, get(made.key_ + "/members"));
  TROUPE_TRY(outcome, made.outcome_of(members_in(bytes)));
  if (int status = troupe_store_set((made.key_ + "/ready").c_str(), outcome.data(), outcome.size()))
    return failed(status);
  return made;
}

/// "color:ordinal …" for each colour, and the members behind the line; or what is wrong.
result<std::string> meeting::outcome_of(std::vector<meeting_member> all) const {
  if (const auto why = misfit(all); !why.empty()) return wrong_mark + why;
  std::sort(all.begin(), all.end(), [](auto& a, auto& b) { return a.rank < b.rank; });
  std::set<std::int32_t> colors;
  for (auto& one : all) {
    if (one.companion < 0) {
      TROUPE_TRY(place, place_of(one.process, one.device));
      one.companion = place;
    }
    if (one.color >= 0) colors.insert(one.color);
  }
  std::string outcome;
  for (auto color : colors) {
    std::string key = "nccl/ordinals";
    for (const auto& one : group_of(all, color)) key += "." + std::to_string(logical_rank(one));
    std::int64_t ordinal = 0;
    if (int status = troupe_store_add(key.c_str(), 1, &ordinal)) return failed(status);
    outcome += std::to_string(color) + ":" + std::to_string(ordinal) + " ";
  }
  outcome += "\n";
  outcome.append(reinterpret_cast<const char*>(all.data()), all.size() * sizeof(meeting_member));
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
  const auto line = outcome.find('\n');
  const auto all = members_in(std::string_view(outcome).substr(line + 1));
  known_places::of_this_process().note(all);
  new_group mine;
  if (me_.color < 0) return mine;
  for (const auto& one : group_of(all, me_.color)) {
    if (one.rank == me_.rank) {
      mine.rank = static_cast<std::uint32_t>(mine.members.size());
      mine.companion = static_cast<std::uint32_t>(one.companion);
    }
    mine.members.push_back(logical_rank(one));
  }
  const auto mark = std::to_string(me_.color) + ":";
  const auto at = (" " + outcome.substr(0, line)).find(" " + mark);
  mine.ordinal =
      static_cast<std::uint32_t>(std::strtoul(outcome.c_str() + at + mark.size(), nullptr, 10));
  return mine;
}

}  // namespace troupe
