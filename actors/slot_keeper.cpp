// slot_keeper: the slots of one set of cores; a rank runs only while it holds one. Finds sleepers
// and lends their slots.
//
// Asked by: rank (take_slot, give_up_slot, leave_slots), rank_port (watch_process), group_directory
// (know_group), stall_watch (examine_processes), coordinator (report_slots).  Asks: recorder; the
// worker pool (to look at processes). Limits: sleepers are looked for only while somebody wants a
// slot. Where nobody who holds one says anything for long, one is lent too: its rank may be polling
// for what a rank without a slot would do. Not here: whose turn it is (slot_table.hpp); who sleeps
// (slot_watch.hpp).
#include <caf/actor_system.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <algorithm>
#include <map>

#include "actors/errors.hpp"
#include "actors/interfaces.hpp"
#include "actors/outside.hpp"
#include "actors/payload_pools.hpp"
#include "actors/run_tables.hpp"
#include "actors/slot_table.hpp"
#include "actors/slot_watch.hpp"
#include "gpu/worker_pool.hpp"

namespace troupe {

struct look_for_sleepers {};
struct holders_seen {
  std::vector<std::pair<rank_id, process_activity::sample>> samples;
};
/// Ranks that want a free slot: all that ask at the same moment are known by now.
struct grant_due {};
struct examination_done {
  std::uint64_t number{};
  processes_examined seen;
};

}  // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::look_for_sleepers)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::holders_seen)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::grant_due)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::examination_done)

namespace troupe {
namespace {

using keeper_self =
    slot_keeper_actor::extend<caf::reacts_to<look_for_sleepers>, caf::reacts_to<holders_seen>,
                              caf::reacts_to<grant_due>, caf::reacts_to<examination_done>>;

constexpr std::chrono::milliseconds look_period{10};
/// So long is a turn held back that is expected to be in vain: one that runs may wait for it in
/// ways we do not see.
constexpr std::chrono::milliseconds held_back_max{100};

struct keeper_state {
  slot_table table{0};
  std::map<rank_id, caf::typed_response_promise<slot_granted>> waiting;
  std::map<std::uint64_t, caf::typed_response_promise<processes_examined>> examinations;

  ~keeper_state() {
    const auto over = to_caf({errc::lost_rank, "the run has ended"});
    for (auto& [rank, held] : waiting) held.deliver(over);
    for (auto& [number, held] : examinations) held.deliver(over);
  }
};
using self_pointer = keeper_self::stateful_pointer<keeper_state>;

class keeper {
 public:
  keeper(self_pointer self, const run_surroundings& run, recorder_actor recorder)
      : self_(self), run_(run), recorder_(std::move(recorder)) {
    self->state.table = slot_table{run.slots};
  }

  void watch(const watch_process& process) { pids_[process.rank] = process.pid; }
  /// Slots are processes': who is to run is known by its lead.
  void know(const know_group& group) {
    std::vector<rank_id> leads;
    for (auto member : group.members) leads.push_back(lead_of(member, run_.world));
    std::sort(leads.begin(), leads.end());
    leads.erase(std::unique(leads.begin(), leads.end()), leads.end());
    table().know_group(group.communicator, std::move(leads));
  }

  caf::result<slot_granted> take(const take_slot& ask) {
    patience_.heard(now());
    auto held = self_->make_response_promise<slot_granted>();
    self_->state.waiting.emplace(ask.rank, held);
    table().want(ask.rank, ask.resolved, ask.what);
    if (ask.what == claim::in_vain)
      self_->delayed_send(self_, held_back_max, slot_is_useful{ask.rank});
    grant_soon();
    return held;
  }

  void grant_now() {
    grant_is_due_ = false;
    grant();
  }

  void promote(const slot_is_useful& ask) {
    table().works_now(ask.rank);
    grant_soon();
  }

  void give_up(const give_up_slot& given) {
    patience_.heard(now());
    if (table().held_by(given.rank))
      patience_.ended(now() - granted_at_[given.rank].time_since_epoch());
    end_interval(given.rank, given.why);
    table().give_up(given.rank, given.waits_on);
    grant();
  }

  void leave(const leave_slots& left) {
    patience_.heard(now());
    end_interval(left.rank, release_reason::ended);
    table().leave(left.rank);
    if (auto held = self_->state.waiting.extract(left.rank); !held.empty())
      held.mapped().deliver(to_caf({errc::lost_rank, "the rank has ended"}));
    pids_.erase(left.rank);
    grant();
    flush();
  }

  caf::result<processes_examined> examine(const examine_processes& ask) {
    if (!run_.activity) return processes_examined{};
    const auto number = ++examinations_;
    auto held = self_->make_response_promise<processes_examined>();
    self_->state.examinations.emplace(number, held);
    std::vector<std::pair<std::int32_t, rank_wait>> targets;
    for (const auto& wait : ask.waits)
      if (auto pid = pids_.find(wait.rank); pid != pids_.end())
        targets.emplace_back(pid->second, wait);
    run_.workers->submit([targets = std::move(targets), activity = run_.activity, number,
                          me = caf::actor_cast<caf::actor>(self_)] {
      examination_done done{number, {}};
      for (const auto& [pid, wait] : targets)
        if (activity->may_act(pid, wait.threads, wait.takes_signals))
          done.seen.may_act.push_back(wait.rank);
      caf::anon_send(me, std::move(done));
    });
    return held;
  }
  void examined(const examination_done& done) {
    if (auto held = self_->state.examinations.extract(done.number); !held.empty())
      held.mapped().deliver(done.seen);
  }

  slots_reported report() {
    flush();
    auto sorted = switch_ns_;
    std::sort(sorted.begin(), sorted.end());
    return {table().switches(), std::move(sorted)};
  }

  void look() {
    looking_ = false;
    if (!table().wanted() || !run_.activity) return;
    std::vector<std::pair<rank_id, std::int32_t>> targets;
    for (auto rank : table().holders())
      if (auto pid = pids_.find(rank); pid != pids_.end()) targets.emplace_back(rank, pid->second);
    run_.workers->submit([targets = std::move(targets), activity = run_.activity,
                          me = caf::actor_cast<caf::actor>(self_)] {
      holders_seen seen;
      for (auto [rank, pid] : targets) seen.samples.emplace_back(rank, activity->look(pid));
      caf::anon_send(me, std::move(seen));
    });
  }

  void judge(const holders_seen& seen) {
    std::map<rank_id, holder_watch> before;
    std::swap(before, holders_);
    for (const auto& [rank, sample] : seen.samples) {
      if (!table().held_by(rank)) continue;
      auto watch = before.extract(rank);
      auto& mine =
          watch.empty() ? holders_[rank] : holders_.insert(std::move(watch)).position->second;
      const bool parks = mine.park.is_long(
          now(), run_.pools->page_of(rank).parked.load(std::memory_order_relaxed));
      const bool sleeps = mine.sleep.sleeps(now(), sample)
                          && granted_at_[rank] + 2 * look_period <= self_->clock().now();
      if ((sleeps || parks) && table().wanted()) lend(rank, release_reason::asleep);
    }
    if (table().wanted() && patience_.is_over(now())) lend_of_the_silent();
    grant();
    look_again();
  }

 private:
  slot_table& table() { return self_->state.table; }
  std::uint64_t since_start(caf::actor_clock::time_point at) const {
    return static_cast<std::uint64_t>((at.time_since_epoch() - run_.start).count());
  }

  nanos now() const { return self_->clock().now().time_since_epoch(); }

  /// The slot is free for others; its rank goes on, and asks for one at its next call.
  void lend(rank_id rank, release_reason why) {
    end_interval(rank, why);
    table().give_up(rank, {});
    holders_.erase(rank);
  }

  /// Of all who hold slots and have said nothing for long, the one that has held its slot longest.
  void lend_of_the_silent() {
    const auto holders = table().holders();
    if (holders.empty()) return;
    const auto rank = *std::min_element(holders.begin(), holders.end(), [this](auto a, auto b) {
      return granted_at_[a] < granted_at_[b];
    });
    lend(rank, release_reason::overdue);
    patience_.lent(now());
  }

  /// Once all who ask at the same moment are known.
  void grant_soon() {
    if (!table().has_free())
      grant();
    else if (!std::exchange(grant_is_due_, true))
      self_->send(self_, grant_due{});
  }

  void grant() {
    while (auto grant = table().next()) {
      const auto now = self_->clock().now();
      granted_at_[grant->rank] = now;
      if (auto freed = freed_at_.extract(grant->slot); !freed.empty())
        switch_ns_.push_back(static_cast<std::uint64_t>((now - freed.mapped()).count()));
      run_.pools->page_of(grant->rank).holds_slot.store(1, std::memory_order_release);
      ++run_.tables->ranks_running;
      auto held = self_->state.waiting.extract(grant->rank);
      held.mapped().deliver(slot_granted{grant->slot});
    }
    drive_clock();
    look_again();
  }

  /// Rank time stands still while somebody has work to do and no turn; those who poll would hold it
  /// up for ever.
  void drive_clock() {
    auto& clock = run_.pools->clock();
    if (clock.is_stopped() == table().wanted_for_work()) return;
    const auto now = static_cast<std::uint64_t>(self_->clock().now().time_since_epoch().count());
    if (table().wanted_for_work())
      clock.stop(now);
    else
      clock.go_on(now);
  }

  void look_again() {
    if (looking_ || !run_.activity || !table().wanted()) return;
    looking_ = true;
    self_->delayed_send(self_, look_period, look_for_sleepers{});
  }

  void end_interval(rank_id rank, release_reason why) {
    auto slot = table().held_by(rank);
    if (!slot) return;
    const auto now = self_->clock().now();
    freed_at_[*slot] = now;
    run_.pools->page_of(rank).holds_slot.store(0, std::memory_order_release);
    --run_.tables->ranks_running;
    intervals_.push_back({rank, *slot, since_start(granted_at_[rank]), since_start(now),
                          static_cast<std::uint8_t>(why)});
    constexpr std::size_t intervals_held_max = 1024;
    if (intervals_.size() >= intervals_held_max) flush();
  }

  void flush() {
    if (intervals_.empty()) return;
    self_->send(recorder_, record_slots{std::make_shared<const std::vector<slot_interval>>(
                               std::exchange(intervals_, {}))});
  }

  self_pointer self_;
  run_surroundings run_;
  recorder_actor recorder_;
  std::map<rank_id, std::int32_t> pids_;
  struct holder_watch {
    sleep_watch sleep;
    park_watch park;
  };
  std::map<rank_id, holder_watch> holders_;
  patience patience_;
  std::map<rank_id, caf::actor_clock::time_point> granted_at_;
  std::map<slot_id, caf::actor_clock::time_point> freed_at_;
  std::vector<slot_interval> intervals_;
  std::vector<std::uint64_t> switch_ns_;
  std::uint64_t examinations_ = 0;
  bool looking_ = false, grant_is_due_ = false;
};

keeper_self::behavior_type behave(self_pointer self, const run_surroundings& run,
                                  recorder_actor recorder) {
  auto slots = std::make_shared<keeper>(self, run, std::move(recorder));
  return {
      [=](const watch_process& process) { slots->watch(process); },
      [=](const know_group& group) { slots->know(group); },
      [=](const take_slot& ask) { return slots->take(ask); },
      [=](const slot_is_useful& ask) { slots->promote(ask); },
      [=](const give_up_slot& given) { slots->give_up(given); },
      [=](const leave_slots& left) { slots->leave(left); },
      [=](const examine_processes& ask) { return slots->examine(ask); },
      [=](const grant_due&) { slots->grant_now(); },
      [=](const report_slots&) { return slots->report(); },
      [=](const look_for_sleepers&) { slots->look(); },
      [=](const holders_seen& seen) { slots->judge(seen); },
      [=](const examination_done& done) { slots->examined(done); },
  };
}

}  // namespace

slot_keeper_actor spawn_slot_keeper(caf::actor_system& system, const run_surroundings& run,
                                    recorder_actor recorder) {
  return system.spawn(behave, run, std::move(recorder));
}

}  // namespace troupe
