// rank_turn: when a rank may go on: its slot, what it waits for, and results that wait for the
// slot.
//
// Invariant: a result is handed over only while the rank holds a slot.
// Not here: actors, promises, the slots of the others (slot_table.hpp).
#pragma once

#include <set>
#include <vector>

#include "messages/ids.hpp"

namespace troupe {

class rank_turn {
 public:
  enum class next { nothing, take_slot, give_up_slot };

  bool holds_slot() const { return holds_slot_; }
  /// A slot is on its way (asked for, not granted yet).
  bool asking() const { return asking_; }
  const std::set<operation_id>& outstanding() const { return outstanding_; }

  /// An operation whose result is owed.
  void issued(operation_id operation) { outstanding_.insert(operation); }
  /// The result is known: it becomes deliverable at once, or with the next slot (take_slot: ask for
  /// one now).
  next resolved(operation_id operation);
  /// Every thread waits for any of these; if one was delivered already the rank goes on and keeps
  /// its slot. Empty: it sleeps.
  next blocked(const std::vector<operation_id>& operations);
  /// What it waits for while nothing of that is resolved and no slot is on its way; empty: it goes
  /// on, or will.
  std::vector<operation_id> stuck_on() const;
  /// The rank asks for a slot itself (start, after a sleep or a poll): true if it must be asked for
  /// (none is on its way).
  bool wants_slot();
  void granted();
  /// The slot was taken from it while it slept.
  void lost_slot() { holds_slot_ = false; }
  /// Results to hand over now, in the order they came; empty without a slot.
  std::vector<operation_id> deliver();

 private:
  std::set<operation_id> outstanding_;  // issued, not delivered
  std::set<operation_id> waiting_for_;
  std::vector<operation_id> owed_;  // resolved, not delivered
  bool holds_slot_ = false, asking_ = false;
};

}  // namespace troupe
