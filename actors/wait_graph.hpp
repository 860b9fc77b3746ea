// wait_graph: which ranks can never go on, over the waits that are known, and the cycle that says
// why.
//
// A rank waits with all its threads, for any of some operations. A lead and its companions
// (messages/companions.hpp) are one process: they wait for any of what each of them has called, and
// are stuck together. An operation that lacks callers
// completes when all of them (or one of them, where one suffices) have called it. A rank is stuck
// when each operation it waits for lacks a caller that is stuck itself or has ended; that is the
// greatest set with this property, so a circle of two is found while a thousand others compute.
// What is not known (an operation no group has open) may complete, and a short timeout ends a wait.
// Not here: collecting all this (stall_watch.cpp); a rank that waits outside communication never
// comes in.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/findings.hpp"
#include "messages/companions.hpp"
#include "messages/ids.hpp"

namespace troupe {

/// An operation that some ranks have called and that cannot complete yet.
struct open_operation {
  struct caller {
    rank_id rank;
    operation_id operation;
    std::string text;  ///< "rank 0 called all_reduce(f32 × 4) as number 3 of world at a.py:7"
    std::string call_site;
  };
  std::string name;  ///< of the operation: "all_reduce(f32 × 4)"
  communicator_id communicator;
  sequence_number sequence;  ///< 0: not of a sequence (send, recv, store)
  std::vector<caller> callers;
  /// All of them are needed, or one where one_suffices. Empty with one_suffices: any rank would do.
  std::vector<rank_id> lacking;
  bool one_suffices = false;
  bool fails_soon = false;  ///< a short timeout of its own ends it: its callers will go on
};

/// A rank that waits.
struct rank_wait {
  rank_id rank;                          ///< the lead of its process
  std::vector<operation_id> operations;  ///< for any of these, its companions' among them
  std::vector<std::int32_t> threads;     ///< of its process, that wait for them
  bool takes_signals = false;            ///< to_troupe::blocked's
};

class wait_graph {
 public:
  /// Of a run of `world` processes, all named by their leads. Those in `ended` call nothing any
  /// more, those in `busy` are taken not to (they have called nothing for long); all that are
  /// neither there nor in `waits` may.
  wait_graph(std::uint32_t world, const std::vector<rank_wait>& waits,
             const std::set<rank_id>& ended, std::vector<open_operation> open,
             const std::set<rank_id>& busy = {});

  /// Leads of processes that can never go on, ascending.
  const std::set<rank_id>& stuck() const { return stuck_; }
  /// Says who waits for whom: the circle if there is one, and who else waits behind it. Only when
  /// some are stuck.
  finding describe() const;
  /// The same without saying how sure it is: "rank 0 called … and waits for rank 1; …".
  std::string who_waits_for_whom() const { return sentence_of(named()); }

 private:
  struct reason {
    const open_operation* operation;
    const open_operation::caller* call;
  };
  bool can_complete(const open_operation& operation) const;
  rank_id lead(rank_id rank) const { return lead_of(rank, world_); }
  bool is_stuck(rank_id rank) const { return stuck_.contains(lead(rank)); }
  bool acts(rank_id rank) const {
    return !is_stuck(rank) && !ended_.contains(lead(rank)) && !busy_.contains(lead(rank));
  }
  bool can_go_on(rank_id lead) const;
  const reason* why(rank_id rank) const;
  std::optional<rank_id> next(rank_id rank) const;
  std::vector<rank_id> callers() const;
  std::vector<rank_id> circle() const;
  std::vector<rank_id> named() const;
  std::string sentence_of(const std::vector<rank_id>& named) const;

  std::uint32_t world_;
  std::set<rank_id> ended_, busy_;
  std::vector<open_operation> open_;
  /// By lead, of the processes that wait for known operations alone; by who called them.
  std::map<rank_id, std::map<rank_id, std::vector<reason>>> reasons_;
  std::set<rank_id> stuck_;
};

}  // namespace troupe
