// quiet_ranks: which ranks have called nothing and got nothing for long, and when to say so.
//
// What a rank waits for without a limit is known; one that asks again and again whether an
// operation is complete waits for what it has not got. A rank that does neither computes, and may
// go on. Not here: whether those that wait can ever go on (wait_graph.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "actors/wait_graph.hpp"
#include "messages/units.hpp"

namespace troupe {

/// What a rank says of itself at a look.
struct rank_progress {
  std::uint64_t calls = 0;             ///< grows with each call and each result
  std::uint64_t polls = 0;             ///< grows with each question that had to be asked again
  std::vector<operation_id> pending;   ///< called, without a result
  std::vector<operation_id> waits_on;  ///< all its threads wait for any of these
};

class quiet_ranks {
 public:
  /// `doubtful`: ranks that have waited this long are worth a look; nothing at all must have
  /// happened for `quiet` to be worth a word.
  quiet_ranks(nanos doubtful, nanos quiet) : doubtful_(doubtful), quiet_(quiet) {}

  void saw(nanos now, rank_id rank, const rank_progress& progress);
  void ended(rank_id rank) { ranks_.erase(rank); }

  /// Ranks to hold against what is open; empty: nothing is due.
  std::vector<rank_wait> due(nanos now) const;
  /// No rank has got on for so long that it should be said. `outside`: those that wait for nothing.
  bool all_quiet(nanos now, std::set<rank_id>& outside) const;
  /// For how long none of these has got on.
  nanos quiet_for(nanos now, const std::set<rank_id>& ranks) const;
  /// Something was said, or there was nothing to say: the next look is due later, after twice the
  /// time if it was.
  void looked(nanos now, bool said);

 private:
  struct state {
    std::uint64_t calls = 0, polls = 0;
    nanos since{};
    std::vector<operation_id> waits_for;
  };

  nanos doubtful_, quiet_, next_{};
  std::map<rank_id, state> ranks_;
};

}  // namespace troupe
