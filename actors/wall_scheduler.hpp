// wall_scheduler: CAF's scheduler and clock against the wall clock: run queue, timers and one
// source of events from outside (sockets) in one thread.
//
// Any thread may enqueue (through CAF's sends); actors run in the scheduler's thread only, and so
// does what the event source does: a frame reaches its actor without a change of thread. Before a
// timer's deadline the thread spins for `spin` instead of sleeping (0: never), and after its last
// event for as long as the source says.
#pragma once

#include <poll.h>
#include <caf/actor_system.hpp>
#include <caf/detail/type_list.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "actors/driven_clock.hpp"
#include "messages/units.hpp"

namespace troupe {

/// CAF's timer queue behind a lock: timers may be set from any thread. `on_earlier` is called, in
/// that thread, when the next deadline has become an earlier one.
class wall_clock final : public driven_clock {
 public:
  using base = caf::detail::simple_actor_clock;
  explicit wall_clock(std::function<void()> on_earlier) : on_earlier_(std::move(on_earlier)) {}

  void set_ordinary_timeout(time_point t, caf::abstract_actor* self, caf::atom_value type,
                            std::uint64_t id) override;
  void set_multi_timeout(time_point t, caf::abstract_actor* self, caf::atom_value type,
                         std::uint64_t id) override;
  void set_request_timeout(time_point t, caf::abstract_actor* self, caf::message_id id) override;
  void cancel_ordinary_timeout(caf::abstract_actor* self, caf::atom_value type) override;
  void cancel_request_timeout(caf::abstract_actor* self, caf::message_id id) override;
  void cancel_timeouts(caf::abstract_actor* self) override;
  void schedule_message(time_point t, caf::strong_actor_ptr receiver,
                        caf::mailbox_element_ptr content) override;
  void schedule_message(time_point t, caf::group target, caf::strong_actor_ptr sender,
                        caf::message content) override;
  void cancel_all() override;

  std::optional<time_point> next_due_locked() const;
  std::size_t fire_due_locked();

 private:
  template <class Change>
  void change(Change how);

  mutable std::recursive_mutex guard_;  // recursive: firing a timer may set the next one
  std::function<void()> on_earlier_;
};

/// What the scheduler's thread sleeps on besides its timers and serves between actors' turns.
class event_source {
 public:
  virtual ~event_source() = default;
  /// Readable (epoll descriptors are, while one of theirs is) when there is something to serve.
  virtual int descriptor() const = 0;
  /// Does a bounded piece of what there is, without waiting; called also when there is nothing.
  virtual void serve() = 0;
  /// How long the thread looks for the next event before it sleeps: time that nobody else could
  /// use.
  virtual nanos spin() const { return nanos{0}; }
};

class wall_scheduler final : public caf::scheduler::abstract_coordinator {
 public:
  explicit wall_scheduler(caf::actor_system& system) : abstract_coordinator(system) {}
  static caf::actor_system::module* make(caf::actor_system& system, caf::detail::type_list<>) {
    return new wall_scheduler(system);
  }

  /// How long before a deadline the thread stops sleeping. Any time.
  void spin_before_deadlines(nanos spin) { spin_ns_ = spin.count(); }

  /// Serves this source from now on (null: none) and returns when the one before is not in use any
  /// more. Not from within serve().
  void watch(event_source* source);

  bool detaches_utility_actors() const override { return false; }
  caf::actor_clock& clock() noexcept override { return clock_; }

 protected:
  void start() override;
  void stop() override;
  void enqueue(caf::resumable* job) override;

 private:
  class unit;
  void run();
  void take_arrived();
  void run_batch(unit& here);
  void serve_source();
  void sleep_until_something();
  bool comes_within(nanos look, pollfd source);
  void wake();
  void notice_earlier_deadline();

  std::deque<caf::resumable*> jobs_;  // the scheduler's thread only
  std::mutex guard_;
  std::deque<caf::resumable*> arrived_;    // guarded
  std::atomic<bool> has_arrived_ = false;  // a job, or a deadline earlier than all before
  std::atomic<bool> asleep_ = false;       // or about to: wake() must write
  int wakeups_ = -1;                       // eventfd
  std::mutex source_guard_;                // held while the source is served
  event_source* source_ = nullptr;
  std::atomic<bool> stopping_ = false;
  std::atomic<std::int64_t> spin_ns_ = 0;
  wall_clock clock_{[this] { notice_earlier_deadline(); }};
  std::thread thread_;
  std::atomic<std::thread::id> thread_id_;
};

}  // namespace troupe
