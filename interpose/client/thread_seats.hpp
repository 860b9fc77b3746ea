// thread_seats: the threads of this process that take part in its slot, and what each waits for.
//
// A thread has a seat from its first blocking call to its end. When none of the seated threads runs
// and one of them waits for an operation or for time, the rank is blocked. A parked thread waits
// for another one of the process: the callback of any future under watch might be what wakes it.
// Not here: thread-local lookup and sending `blocked` (conversation.hpp).
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "messages/ids.hpp"
#include "messages/release_reason.hpp"

namespace troupe {

struct thread_seat {
  enum class state : std::uint8_t { running, waiting, sleeping, parked };
  state now = state::running;
  operation_id operation;                              ///< waiting: for this
  release_reason reason = release_reason::collective;  ///< waiting: because of this
  bool polled = false;     ///< it runs, and has asked in vain since the slot came
  bool at_future = false;  ///< waiting: in a future's condition variable
};

class thread_seats {
 public:
  struct waits {
    release_reason reason = release_reason::sleeping;
    std::vector<operation_id> operations;  ///< ascending, each once
    std::vector<std::int32_t> threads;     ///< the kernel's numbers of those that wait for them
    /// The leading thread, which runs Python's signal handlers, is not inside an operation.
    bool takes_signals = true;
  };

  /// For the calling thread.
  thread_seat* take() { return &seats_.emplace_back(seated{{}, ::gettid()}); }
  void leave(const thread_seat* seat) {
    seats_.remove_if([&](const seated& other) { return &other == seat; });
  }

  /// Does a seated thread other than this one run? A wait whose operation is no longer pending
  /// counts as running: its thread is about to go on.
  template <class IsPending>
  bool others_run(const thread_seat* than, IsPending is_pending) const {
    return std::any_of(seats_.begin(), seats_.end(), [&](const thread_seat& seat) {
      return &seat != than && runs(seat, is_pending);
    });
  }

  /// Does one run that has not polled? Threads that only poll would keep the slot from each other's
  /// answers for ever; one that computes between its polls shares the core for one turn at most.
  template <class IsPending>
  bool others_work(const thread_seat* than, IsPending is_pending) const {
    return std::any_of(seats_.begin(), seats_.end(), [&](const thread_seat& seat) {
      return &seat != than && !seat.polled && runs(seat, is_pending);
    });
  }
  /// The slot came: everyone asks anew.
  void forget_polls() {
    for (auto& seat : seats_) seat.polled = false;
  }

  /// What all seated threads wait for; nullopt while one of them runs, or when they wait for none
  /// of this. `watched()`: the operations of all futures under watch.
  template <class IsPending, class Watched>
  std::optional<waits> all_blocked(IsPending is_pending, Watched watched) const {
    if (seats_.empty() || others_run(nullptr, is_pending)) return std::nullopt;
    auto found = awaited_operations(watched);
    const bool sleeps = std::any_of(seats_.begin(), seats_.end(), [](const thread_seat& seat) {
      return seat.now == thread_seat::state::sleeping;
    });
    if (found.operations.empty() && !sleeps) return std::nullopt;
    return found;
  }

  /// A future that was to complete with one operation completes with a later one instead: a
  /// callback of the first goes on with that.
  void go_on_with(operation_id first, operation_id later) {
    for (thread_seat& seat : seats_)
      if (seat.now == thread_seat::state::waiting && seat.at_future && seat.operation == first)
        seat.operation = later;
  }

  /// Might a callback leave one of them asleep that waits by other means than ours?
  bool any_unseen() const {
    return std::any_of(seats_.begin(), seats_.end(), [](const thread_seat& seat) {
      return seat.now == thread_seat::state::parked
             || (seat.now == thread_seat::state::waiting && seat.at_future);
    });
  }

  bool any_parked() const {
    return std::any_of(seats_.begin(), seats_.end(), [](const thread_seat& seat) {
      return seat.now == thread_seat::state::parked;
    });
  }

  /// What those threads wait for that wait.
  template <class Watched>
  waits awaited_operations(Watched watched) const {
    waits found;
    if (any_parked()) {
      found.operations = watched();
      if (!found.operations.empty()) found.reason = release_reason::collective;
    }
    for (const auto& seat : seats_) {
      if (seat.now == thread_seat::state::parked) found.threads.push_back(seat.thread);
      if (seat.now != thread_seat::state::waiting) continue;
      if (found.operations.empty() || seat.reason == release_reason::collective)
        found.reason = seat.reason;
      found.operations.push_back(seat.operation);
      found.threads.push_back(seat.thread);
      found.takes_signals &= seat.thread != ::getpid();
    }
    auto& all = found.operations;
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return found;
  }

  bool waits_for(operation_id operation) const {
    return std::any_of(seats_.begin(), seats_.end(), [&](const thread_seat& seat) {
      return seat.now == thread_seat::state::waiting && seat.operation == operation;
    });
  }

 private:
  template <class IsPending>
  static bool runs(const thread_seat& seat, IsPending& is_pending) {
    if (seat.now == thread_seat::state::waiting) return !is_pending(seat.operation);
    return seat.now == thread_seat::state::running;
  }

  struct seated : thread_seat {
    std::int32_t thread;
  };
  std::list<seated> seats_;  // addresses must last
};

}  // namespace troupe
