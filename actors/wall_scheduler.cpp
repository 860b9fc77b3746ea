#include "actors/wall_scheduler.hpp"

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <caf/actor.hpp>
#include <caf/actor_control_block.hpp>
#include <caf/execution_unit.hpp>
#include <caf/group.hpp>
#include <caf/make_actor.hpp>
#include <caf/resumable.hpp>

#include <algorithm>

#include "actors/silent_printer.hpp"

namespace troupe {

using lock = std::lock_guard<std::recursive_mutex>;

template <class Change>
void wall_clock::change(Change how) {
  {
    lock held{guard_};
    const auto before = next_due();
    how();
    const auto after = next_due();
    if (!after || (before && *before <= *after)) return;
  }
  on_earlier_();
}

void wall_clock::set_ordinary_timeout(time_point t, caf::abstract_actor* self, caf::atom_value type,
                                      std::uint64_t id) {
  change([&] { base::set_ordinary_timeout(t, self, type, id); });
}
void wall_clock::set_multi_timeout(time_point t, caf::abstract_actor* self, caf::atom_value type,
                                   std::uint64_t id) {
  change([&] { base::set_multi_timeout(t, self, type, id); });
}
void wall_clock::set_request_timeout(time_point t, caf::abstract_actor* self, caf::message_id id) {
  change([&] { base::set_request_timeout(t, self, id); });
}
void wall_clock::cancel_ordinary_timeout(caf::abstract_actor* self, caf::atom_value type) {
  lock held{guard_};
  base::cancel_ordinary_timeout(self, type);
}
void wall_clock::cancel_request_timeout(caf::abstract_actor* self, caf::message_id id) {
  lock held{guard_};
  base::cancel_request_timeout(self, id);
}
void wall_clock::cancel_timeouts(caf::abstract_actor* self) {
  lock held{guard_};
  base::cancel_timeouts(self);
}
void wall_clock::schedule_message(time_point t, caf::strong_actor_ptr receiver,
                                  caf::mailbox_element_ptr content) {
  change([&] { base::schedule_message(t, std::move(receiver), std::move(content)); });
}
void wall_clock::schedule_message(time_point t, caf::group target, caf::strong_actor_ptr sender,
                                  caf::message content) {
  change(
      [&] { base::schedule_message(t, std::move(target), std::move(sender), std::move(content)); });
}
void wall_clock::cancel_all() {
  lock held{guard_};
  base::cancel_all();
}
std::optional<wall_clock::time_point> wall_clock::next_due_locked() const {
  lock held{guard_};
  return next_due();
}
std::size_t wall_clock::fire_due_locked() {
  lock held{guard_};
  return fire_due();
}

class wall_scheduler::unit final : public caf::execution_unit {
 public:
  explicit unit(wall_scheduler& parent) : execution_unit(&parent.system()), parent_(parent) {}
  void exec_later(caf::resumable* job) override { parent_.jobs_.push_back(job); }

 private:
  wall_scheduler& parent_;
};

void wall_scheduler::take_arrived() {
  if (!has_arrived_.load(std::memory_order_acquire)) return;
  std::lock_guard held{guard_};
  has_arrived_.store(false, std::memory_order_relaxed);
  jobs_.insert(jobs_.end(), arrived_.begin(), arrived_.end());
  arrived_.clear();
}

void wall_scheduler::run_batch(unit& here) {
  constexpr int jobs_between_timers = 64;
  constexpr std::size_t messages_a_job = 64;
  for (int n = 0; n < jobs_between_timers && !jobs_.empty(); ++n) {
    auto job = jobs_.front();
    jobs_.pop_front();
    switch (job->resume(&here, messages_a_job)) {
      case caf::resumable::resume_later:
        jobs_.push_back(job);
        break;
      case caf::resumable::shutdown_execution_unit:
        break;
      default:
        caf::intrusive_ptr_release(job);
    }
  }
}

void wall_scheduler::watch(event_source* source) {
  {
    std::lock_guard held{source_guard_};
    source_ = source;
  }
  has_arrived_ = true;
  wake();
}

void wall_scheduler::serve_source() {
  std::lock_guard held{source_guard_};
  if (source_) source_->serve();
}

void wall_scheduler::wake() {
  if (!asleep_.exchange(false)) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] auto written = ::write(wakeups_, &one, sizeof one);
}

/// Looks for an event or a job, without sleeping.
bool wall_scheduler::comes_within(nanos look, pollfd source) {
  const auto until = clock_.now() + look;
  while (!has_arrived_.load(std::memory_order_relaxed) && !stopping_) {
    constexpr timespec at_once{};
    if (::ppoll(&source, 1, &at_once, nullptr) != 0) return true;
    if (clock_.now() >= until) return false;
  }
  return true;
}

void wall_scheduler::sleep_until_something() {
  auto due = clock_.next_due_locked();
  const nanos spin{spin_ns_.load(std::memory_order_relaxed)};
  nanos patience{};
  if (due) {
    auto now = clock_.now();
    if (*due <= now) return;
    if (*due - now <= spin) {
      while (clock_.now() < *due && !has_arrived_.load(std::memory_order_relaxed))
        __builtin_ia32_pause();
      return;
    }
    patience = *due - now - spin;
  }
  const timespec timeout{patience.count() / 1'000'000'000, patience.count() % 1'000'000'000};
  pollfd descriptors[] = {{wakeups_, POLLIN, 0}, {-1, POLLIN, 0}};
  nanos look{};
  {
    std::lock_guard held{source_guard_};
    if (source_) {
      descriptors[1].fd = source_->descriptor();
      look = source_->spin();
    }
  }
  if (due) look = std::min(look, patience);
  if (look > nanos{0} && comes_within(look, descriptors[1])) return;
  asleep_ = true;
  if (!has_arrived_ && !stopping_) ::ppoll(descriptors, 2, due ? &timeout : nullptr, nullptr);
  if (!asleep_.exchange(false)) {  // somebody has written, or will at once
    std::uint64_t count;
    [[maybe_unused]] auto got = ::read(wakeups_, &count, sizeof count);
  }
}

void wall_scheduler::run() {
  pthread_setname_np(pthread_self(), "troupe-actors");
  prctl(PR_SET_TIMERSLACK, 1ul);  // the default of 50 µs would be the lateness of every timer
  thread_id_ = std::this_thread::get_id();
  unit here{*this};
  while (!stopping_) {
    take_arrived();
    clock_.fire_due_locked();
    serve_source();
    run_batch(here);
    if (jobs_.empty() && !has_arrived_.load(std::memory_order_acquire)) sleep_until_something();
  }
}

void wall_scheduler::start() {
  unit here{*this};
  caf::actor_config config{&here};
  utility_actors_[printer_id] = caf::make_actor<silent_printer, caf::actor>(
      system().next_actor_id(), system().node(), &system(), config);
  wakeups_ = ::eventfd(0, EFD_CLOEXEC);
  if (wakeups_ < 0) CAF_RAISE_ERROR("no descriptor left for the scheduler");
  thread_ = std::thread([this] { run(); });
}

void wall_scheduler::stop() {
  stopping_ = true;
  wake();
  thread_.join();
  ::close(wakeups_);
}

void wall_scheduler::notice_earlier_deadline() {
  if (thread_id_.load(std::memory_order_relaxed) == std::this_thread::get_id()) return;
  has_arrived_ = true;
  wake();
}

void wall_scheduler::enqueue(caf::resumable* job) {
  if (thread_id_.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
    jobs_.push_back(job);
    return;
  }
  {
    std::lock_guard held{guard_};
    arrived_.push_back(job);
    has_arrived_ = true;
  }
  wake();
}

}  // namespace troupe
