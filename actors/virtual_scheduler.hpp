// virtual_scheduler: CAF's scheduler and clock in virtual time: first in, first out, then jump to
// the next timer.
//
// Single-threaded and deterministic: nothing runs but inside run() and drain(). A periodic timer
// never lets run() end. Not here: detached and blocking actors, which would break determinism.
#pragma once

#include <caf/actor_system.hpp>
#include <caf/detail/type_list.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

#include <cstdint>
#include <deque>

#include "actors/driven_clock.hpp"
#include "messages/units.hpp"

namespace troupe {

class virtual_clock final : public driven_clock {
 public:
  time_point now() const noexcept override { return now_; }
  void advance_to(time_point when) {
    if (when > now_) now_ = when;
  }

 private:
  time_point now_{duration_type{1}};  // CAF reads a zero time point as "no timeout"
};

class virtual_scheduler final : public caf::scheduler::abstract_coordinator {
 public:
  explicit virtual_scheduler(caf::actor_system& system) : abstract_coordinator(system) {}
  static caf::actor_system::module* make(caf::actor_system& system, caf::detail::type_list<>) {
    return new virtual_scheduler(system);
  }

  /// Runs all that is runnable at this instant.
  void drain();
  /// Runs until nothing is runnable and no timer is set.
  void run();
  /// Runs until nothing is runnable and no timer is due before or at `until` (since the clock's
  /// start).
  void run_until(nanos until);

  nanos now() const { return clock_.now().time_since_epoch(); }
  std::uint64_t resumed() const { return resumed_; }

  bool detaches_utility_actors() const override { return false; }
  caf::actor_clock& clock() noexcept override { return clock_; }

 protected:
  void start() override;
  void stop() override { run(); }
  void enqueue(caf::resumable* job) override { jobs_.push_back(job); }

 private:
  class unit;
  std::deque<caf::resumable*> jobs_;
  virtual_clock clock_;
  std::uint64_t resumed_ = 0;
};

}  // namespace troupe
