// slot_table: which rank holds a slot, who waits for one, and whose turn is next.
//
// Order: first ranks that a collective still lacks for which others wait, those whose collective
// lacks fewest members first; among equals the one that held the free slot last, which is no
// switch; then the oldest. A rank that only polled has no such claim, or it would keep
// the others out. Fed by the ranks alone (want, give_up): it needs to ask nobody. Everything is
// indexed; nothing scans the world.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "messages/ids.hpp"

namespace troupe {

/// A collective that somebody waits for.
struct wait_target {
  communicator_id communicator;
  sequence_number sequence;
  friend auto operator<=>(const wait_target&, const wait_target&) = default;
  template <class F>
  friend auto inspect(F& f, wait_target& x) {
    return f(x.communicator, x.sequence);
  }
};

/// What a rank would do with a slot.
enum class claim : std::uint8_t {
  works,
  polls,    ///< asks again whether an operation is complete: it has no claim on others' turns
  in_vain,  ///< waits again at once, for what those who run will do: has a slot once nobody runs,
            ///< or works_now() says so
};

class slot_table {
 public:
  explicit slot_table(std::uint32_t slots);

  void know_group(communicator_id communicator, std::vector<rank_id> members);

  /// The rank wants a slot (it has none and does not want one yet). `resolved`: what it waited for
  /// and is over.
  void want(rank_id rank, const std::vector<wait_target>& resolved, claim what);
  /// What the rank wants a slot for would not be in vain any more.
  void works_now(rank_id rank);
  /// The rank gives up its slot (or would, if it was not taken from it): it waits for any of
  /// `waits_on`.
  void give_up(rank_id rank, const std::vector<wait_target>& waits_on);
  /// The rank is over: it holds, wants and awaits nothing.
  void leave(rank_id rank);

  /// Grants a free slot to the rank whose turn it is; none when no slot is free or nobody wants
  /// one.
  struct grant {
    rank_id rank;
    slot_id slot;
  };
  std::optional<grant> next();

  std::optional<slot_id> held_by(rank_id rank) const;
  std::vector<rank_id> holders() const;
  bool wanted() const { return !wanting_.empty(); }
  /// Wanted by a rank that goes on with it, not only to poll again.
  bool wanted_for_work() const { return for_work_ > 0; }
  bool has_free() const { return !free_.empty(); }
  /// How often a slot went to another rank than the one that held it last.
  std::uint64_t switches() const { return switches_; }

 private:
  struct group {
    std::vector<rank_id> members;
    std::set<std::pair<std::uint64_t, rank_id>> queued;  // by ticket
  };
  struct wait {
    std::set<rank_id> blocked;
    std::uint64_t age{};
  };
  struct place {
    std::uint64_t ticket{};
    claim what{};
  };
  using wait_key = std::pair<std::uint64_t, std::uint64_t>;  // members missing, age

  wait_key key_of(const wait_target& target, const wait& what) const;
  void forget_wait(const wait_target& target);
  void forget_waits_of(rank_id rank);
  /// Of the ranks that want a slot, one for which others wait.
  const group* most_wanted() const;
  bool wants_to_work(rank_id rank) const;
  rank_id whose_turn() const;
  slot_id slot_for(rank_id rank) const;
  void enqueue(rank_id rank, place at);
  void dequeue(rank_id rank);

  std::map<slot_id, std::optional<rank_id>> free_;  // with who held it last
  std::map<rank_id, slot_id> holding_;
  std::map<rank_id, place> wanting_;
  std::map<std::uint64_t, rank_id> queue_, in_vain_;  // by ticket
  std::unordered_map<communicator_id, group> groups_;
  std::unordered_map<rank_id, std::vector<communicator_id>> groups_of_;
  std::map<wait_target, wait> waits_;
  std::map<wait_key, wait_target> by_need_;
  std::map<rank_id, std::vector<wait_target>> waits_of_;
  std::size_t for_work_ = 0;  // of those that want one
  std::uint64_t tickets_ = 0, switches_ = 0;
};

}  // namespace troupe
