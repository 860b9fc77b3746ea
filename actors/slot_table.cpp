#include "actors/slot_table.hpp"

#include "messages/assert.hpp"

namespace troupe {

slot_table::slot_table(std::uint32_t slots) {
  for (std::uint32_t n = 0; n < slots; ++n) free_.emplace(slot_id{n}, std::nullopt);
}

void slot_table::know_group(communicator_id communicator, std::vector<rank_id> members) {
  auto [at, fresh] = groups_.try_emplace(communicator);
  if (!fresh) return;
  for (auto member : members) {
    groups_of_[member].push_back(communicator);
    if (auto place = wanting_.find(member);
        place != wanting_.end() && place->second.what == claim::works)
      at->second.queued.emplace(place->second.ticket, member);
  }
  // Who waits for a collective of it already was ranked without knowing how many it lacks.
  const auto first = waits_.lower_bound({communicator, {}});
  for (auto wait = first; wait != waits_.end() && wait->first.communicator == communicator; ++wait)
    by_need_.erase(key_of(wait->first, wait->second));
  at->second.members = std::move(members);
  for (auto wait = first; wait != waits_.end() && wait->first.communicator == communicator; ++wait)
    by_need_.emplace(key_of(wait->first, wait->second), wait->first);
}

slot_table::wait_key slot_table::key_of(const wait_target& target, const wait& what) const {
  auto group = groups_.find(target.communicator);
  const bool known = group != groups_.end() && !group->second.members.empty();
  const auto size = known ? group->second.members.size() : what.blocked.size();
  return {size - what.blocked.size(), what.age};
}

void slot_table::forget_wait(const wait_target& target) {
  auto found = waits_.find(target);
  if (found == waits_.end()) return;
  by_need_.erase(key_of(target, found->second));
  for (auto rank : found->second.blocked)
    if (auto of = waits_of_.find(rank); of != waits_of_.end()) std::erase(of->second, target);
  waits_.erase(found);
}

void slot_table::forget_waits_of(rank_id rank) {
  auto found = waits_of_.extract(rank);
  if (found.empty()) return;
  for (const auto& target : found.mapped()) {
    auto at = waits_.find(target);
    if (at == waits_.end()) continue;
    by_need_.erase(key_of(target, at->second));
    at->second.blocked.erase(rank);
    if (at->second.blocked.empty())
      waits_.erase(at);
    else
      by_need_.emplace(key_of(target, at->second), target);
  }
}

void slot_table::want(rank_id rank, const std::vector<wait_target>& resolved, claim what) {
  TROUPE_ASSERT(!wanting_.contains(rank) && !holding_.contains(rank), rank.value);
  for (const auto& target : resolved) forget_wait(target);
  forget_waits_of(rank);
  enqueue(rank, {++tickets_, what});
}

void slot_table::works_now(rank_id rank) {
  auto found = wanting_.find(rank);
  if (found == wanting_.end() || found->second.what != claim::in_vain) return;
  const auto ticket = found->second.ticket;
  dequeue(rank);
  enqueue(rank, {ticket, claim::works});
}

void slot_table::enqueue(rank_id rank, place at) {
  wanting_.emplace(rank, at);
  (at.what == claim::in_vain ? in_vain_ : queue_).emplace(at.ticket, rank);
  if (at.what != claim::works) return;
  ++for_work_;
  if (auto groups = groups_of_.find(rank); groups != groups_of_.end())
    for (auto communicator : groups->second)
      groups_.at(communicator).queued.emplace(at.ticket, rank);
}

void slot_table::give_up(rank_id rank, const std::vector<wait_target>& waits_on) {
  if (auto held = holding_.extract(rank); !held.empty()) free_.emplace(held.mapped(), rank);
  forget_waits_of(rank);
  for (const auto& target : waits_on) {
    auto [at, fresh] = waits_.try_emplace(target);
    if (fresh)
      at->second.age = ++tickets_;
    else
      by_need_.erase(key_of(target, at->second));
    at->second.blocked.insert(rank);
    by_need_.emplace(key_of(target, at->second), target);
    waits_of_[rank].push_back(target);
  }
}

void slot_table::dequeue(rank_id rank) {
  auto found = wanting_.extract(rank);
  if (found.empty()) return;
  const auto [ticket, what] = found.mapped();
  (what == claim::in_vain ? in_vain_ : queue_).erase(ticket);
  if (what != claim::works) return;
  --for_work_;
  if (auto groups = groups_of_.find(rank); groups != groups_of_.end())
    for (auto communicator : groups->second) groups_.at(communicator).queued.erase({ticket, rank});
}

void slot_table::leave(rank_id rank) {
  if (auto held = holding_.extract(rank); !held.empty()) free_.emplace(held.mapped(), rank);
  dequeue(rank);
  forget_waits_of(rank);
}

const slot_table::group* slot_table::most_wanted() const {
  // A collective that lacks nobody is resolving; one whose missing members do not queue leads on to
  // the next.
  constexpr int collectives_looked_at_max = 64;
  int looked_at = 0;
  for (auto at = by_need_.lower_bound({1, 0}); at != by_need_.end(); ++at) {
    if (++looked_at > collectives_looked_at_max) break;
    auto group = groups_.find(at->second.communicator);
    if (group != groups_.end() && !group->second.queued.empty()) return &group->second;
  }
  return nullptr;
}

bool slot_table::wants_to_work(rank_id rank) const {
  auto place = wanting_.find(rank);
  return place != wanting_.end() && place->second.what == claim::works;
}

rank_id slot_table::whose_turn() const {
  const auto* needed = most_wanted();
  for (const auto& [slot, last] : free_) {
    if (!last || !wants_to_work(*last)) continue;
    if (!needed || needed->queued.contains({wanting_.at(*last).ticket, *last})) return *last;
  }
  return needed ? needed->queued.begin()->second : queue_.begin()->second;
}

/// The one it held last, else one that nobody in the queue held last.
slot_id slot_table::slot_for(rank_id rank) const {
  for (const auto& [slot, last] : free_)
    if (last == rank) return slot;
  for (const auto& [slot, last] : free_)
    if (!last || !wants_to_work(*last)) return slot;
  return free_.begin()->first;
}

std::optional<slot_table::grant> slot_table::next() {
  if (free_.empty()) return std::nullopt;
  if (queue_.empty() && (in_vain_.empty() || !holding_.empty())) return std::nullopt;
  const auto rank = queue_.empty() ? in_vain_.begin()->second : whose_turn();
  const auto slot = slot_for(rank);
  dequeue(rank);
  if (free_.extract(slot).mapped() != rank) ++switches_;
  holding_.emplace(rank, slot);
  return grant{rank, slot};
}

std::optional<slot_id> slot_table::held_by(rank_id rank) const {
  auto found = holding_.find(rank);
  if (found == holding_.end()) return std::nullopt;
  return found->second;
}

std::vector<rank_id> slot_table::holders() const {
  std::vector<rank_id> all;
  for (const auto& [rank, slot] : holding_) all.push_back(rank);
  return all;
}

}  // namespace troupe
