#include "actors/rank_turn.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

rank_turn::next rank_turn::resolved(operation_id operation) {
  owed_.push_back(operation);
  if (holds_slot_ || asking_ || !waiting_for_.contains(operation)) return next::nothing;
  asking_ = true;
  return next::take_slot;
}

rank_turn::next rank_turn::blocked(const std::vector<operation_id>& operations) {
  for (auto operation : operations)
    if (!outstanding_.contains(operation)) return next::nothing;  // its answer is on its way
  waiting_for_ = {operations.begin(), operations.end()};
  const bool held = holds_slot_;
  holds_slot_ = false;
  const bool ready = std::any_of(owed_.begin(), owed_.end(),
                                 [&](auto operation) { return waiting_for_.contains(operation); });
  if (held) return next::give_up_slot;
  if (!ready || asking_) return next::nothing;
  asking_ = true;
  return next::take_slot;
}

std::vector<operation_id> rank_turn::stuck_on() const {
  if (holds_slot_ || asking_) return {};
  for (auto operation : owed_)
    if (waiting_for_.contains(operation)) return {};
  return {waiting_for_.begin(), waiting_for_.end()};
}

bool rank_turn::wants_slot() {
  if (holds_slot_ || asking_) return false;
  asking_ = true;
  return true;
}

void rank_turn::granted() {
  asking_ = false;
  holds_slot_ = true;
  waiting_for_.clear();
}

std::vector<operation_id> rank_turn::deliver() {
  if (!holds_slot_) return {};
  for (auto operation : owed_) outstanding_.erase(operation);
  return std::exchange(owed_, {});
}

}  // namespace troupe
