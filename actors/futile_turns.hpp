// futile_turns: would a rank's next turn be in vain?
//
// A rank that waits for several collectives one after the other (DDP for its buckets) is woken by
// the first and waits for the second at once, while those who could complete that still run. It is
// told by its last such turn: it began with collectives open, called nothing, and ended within
// `short_turn` waiting for one of them. The first is taken to be in vain: others with work to do go
// first. Not here: who has a slot (slot_table.hpp).
#pragma once

#include <algorithm>
#include <set>
#include <vector>

#include "messages/ids.hpp"
#include "messages/units.hpp"

namespace troupe {

class futile_turns {
 public:
  static constexpr nanos short_turn{2'000'000};

  /// A turn begins; `open`: collectives that the rank has called and that are not resolved.
  void begins(nanos now, std::set<operation_id> open) {
    began_ = now;
    open_ = std::move(open);
    calls_ = false;
  }
  /// The rank calls an operation, or the store.
  void calls() { calls_ = true; }
  /// The turn ends: it waits for one of these (none: it sleeps).
  void ends(nanos now, const std::vector<operation_id>& on) {
    if (open_.empty()) return;  // such a turn says nothing
    last_was_ = !calls_ && !on.empty() && now - began_ <= short_turn
                && std::all_of(on.begin(), on.end(),
                               [this](auto operation) { return open_.contains(operation); });
    open_.clear();
  }
  /// Would a turn that begins with collectives open be in vain?
  bool expected() const { return last_was_; }

 private:
  nanos began_{};
  std::set<operation_id> open_;
  bool calls_ = false, last_was_ = true;
};

}  // namespace troupe
