// coordinator: spawns the cast of a run, supervises its processes, decides what a failure means,
// collects the report.
//
// Asked by: whoever wants the run (run_job) and its surroundings (processes started and ended,
// Ctrl-C). Asks: everybody below.  Invariant: the first failure is the run's outcome; what follows
// from it is not blamed. Limits: after a failure the ranks get SIGTERM, and SIGKILL `kill_after`
// later; after a mismatch they get `mismatch_grace` first, to report what they were told.
#include <fmt/format.h>
#include <caf/actor_system.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <algorithm>
#include <csignal>
#include <map>
#include <optional>
#include <set>

#include "actors/errors.hpp"
#include "actors/interfaces.hpp"
#include "actors/outside.hpp"
#include "actors/payload_pools.hpp"
#include "actors/process_end.hpp"
#include "actors/run_tables.hpp"

namespace troupe {

struct terminate_due {};
struct kill_due {};
struct give_up_on_processes {};

}  // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::terminate_due)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::kill_due)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::give_up_on_processes)

namespace troupe {
namespace {

using coordinator_self =
    coordinator_actor::extend<caf::reacts_to<terminate_due>, caf::reacts_to<kill_due>,
                              caf::reacts_to<give_up_on_processes>>;

constexpr std::chrono::milliseconds mismatch_grace{1000}, kill_after{1000}, forget_after{3000};

struct coordinator_state {
  caf::typed_response_promise<job_report> reported;
  std::vector<caf::actor> cast;

  ~coordinator_state() {  // a held promise keeps its own actor alive, so the cast ends because it
                          // is told to
    for (auto& member : cast) caf::anon_send_exit(member, caf::exit_reason::user_shutdown);
    if (reported.pending()) reported.deliver(to_caf({errc::lost_rank, "the run was ended"}));
  }
};
using self_pointer = coordinator_self::stateful_pointer<coordinator_state>;

class run_plan {
 public:
  run_plan(self_pointer self, const run_surroundings& run) : self_(self), run_(run) {}

  caf::result<job_report> start() {
    self_->state.reported = self_->make_response_promise<job_report>();
    auto& system = self_->system();
    recorder_ = enter(spawn_recorder(system, run_));
    slots_ = enter(spawn_slot_keeper(system, run_, recorder_));
    auto pool = enter(spawn_buffer_pool(system, run_));
    store_ = enter(spawn_store(system, run_));
    groups_ = enter(spawn_group_directory(system, run_, slots_, recorder_));
    std::vector<rank_actor> ranks;
    for (std::uint32_t n = 0; n < run_.world; ++n) {
      auto rank = enter(spawn_rank(system, run_, {n}, groups_, store_, slots_, recorder_));
      ranks.push_back(rank);
      auto port = enter(spawn_rank_port(system, run_, {n}, rank, pool, slots_));
      ports_.push_back(port);
      run_.introduce_port({n}, port);
    }
    self_->request(recorder_, caf::infinite, await_finding{})
        .then([this](const finding_recorded& first) { found(first.what); }, [](caf::error&) {});
    enter(spawn_stall_watch(system, run_, std::move(ranks), groups_, store_, slots_, recorder_));
    return self_->state.reported;
  }

  void started(const from_launcher::started& process) {
    started_.insert(process.rank);
    self_->send(recorder_, record_process{process.rank, process.pid, false, 0});
  }

  void ended(const from_launcher::ended& process) {
    if (process.rank.value >= run_.world || !ended_.insert(process.rank).second) return;
    self_->send(recorder_, record_process{process.rank, process.pid, true, process.wait_status});
    const auto& page = run_.pools->page_of(process.rank);
    auto judged = judge_end(process.rank, process.wait_status);
    if (judged.code == errc::program_failed) judged.context += tell_refusal(page);
    if (judged.code != errc::none)
      conclude({judged.code, {process.rank}, {}, {}, {}, {}, {}, judged.context}, nanos{0});
    rank_summary summary{process.rank,      process.rank, process.wait_status, process.cpu_ns, 0, 0,
                         process.peak_bytes};
    if (page.counts_tensors.load(std::memory_order_acquire))
      summary.tensor_peak_bytes = page.tensor_peak_bytes.load(std::memory_order_relaxed);
    if (const auto peak = page.device_peak_bytes.load(std::memory_order_acquire)) {
      summary.device_peak_bytes = peak;
      summary.device_fragmented_bytes =
          page.device_fragmented_bytes.load(std::memory_order_relaxed);
    }
    close_rank(summary, judged);
  }

  void failed(const from_launcher::failed& why) {
    if (ended_.size() == run_.world) return;  // the launcher goes when its ranks are gone
    conclude({why.why.code, {}, {}, {}, {}, {}, {}, why.why.context}, nanos{0});
    self_->delayed_send(self_, forget_after, give_up_on_processes{});
    if (started_.empty()) forget_processes();
  }

  void interrupt() {
    if (outcome_) {  // the second Ctrl-C
      run_.processes->signal_all(SIGKILL);
      return;
    }
    conclude({errc::interrupted, {}, {}, {}, {}, {}, {}, "stopped by Ctrl-C or a signal to troupe"},
             nanos{0});
  }

  void terminate() {
    if (finishing_) return;
    run_.processes->signal_all(SIGTERM);
    self_->delayed_send(self_, kill_after, kill_due{});
  }
  void kill() {
    if (finishing_) return;
    run_.processes->signal_all(SIGKILL);
    self_->delayed_send(self_, forget_after, give_up_on_processes{});
  }
  void forget_processes() {
    for (std::uint32_t n = 0; n < run_.world; ++n)
      if (ended_.insert({n}).second)
        close_rank({{n}, {n}, -1, 0, 0, 0, 0}, {errc::lost_rank, "never seen to end"});
  }

 private:
  template <class Handle>
  Handle enter(Handle member) {
    self_->state.cast.push_back(caf::actor_cast<caf::actor>(member));
    return member;
  }

  /// A finding of the cast (a mismatch, a deadlock, a full disk): the ranks concerned were told.
  void found(const finding& what) {
    if (outcome_) return;
    outcome_ = what.kind;
    if (what.kind == errc::mismatch)
      self_->delayed_send(self_, mismatch_grace, terminate_due{});
    else
      terminate();
  }

  void conclude(finding what, nanos grace) {
    if (outcome_) return;
    outcome_ = what.kind;
    self_->send(recorder_, record_finding{std::move(what)});
    if (grace.count() > 0)
      self_->delayed_send(self_, grace, terminate_due{});
    else
      terminate();
  }

  void close_rank(rank_summary summary, const error& judged) {
    const auto at = static_cast<std::uint64_t>(self_->clock().now().time_since_epoch().count());
    self_->request(ports_[summary.rank.value], caf::infinite, end_rank{at})
        .then(
            [this, summary, judged](const rank_ended& ended) mutable {
              summary.blocked_ns = ended.blocked_ns;
              summary.switches = ended.switches;
              report_.ranks.push_back(summary);
              for (auto companion : ended.companions)
                report_.ranks.push_back(
                    {companion, summary.rank, summary.wait_status, 0, ended.blocked_ns, 0, 0});
              ++run_.tables->ranks_done;
              if (judged.code == errc::none)
                self_->send(groups_, withdraw_member{summary.rank, judged});
              if (run_.tables->ranks_done == run_.world) finish();
            },
            [this](caf::error&) { finish(); });
  }

  void finish() {
    if (std::exchange(finishing_, true)) return;
    std::sort(report_.ranks.begin(), report_.ranks.end(),
              [](auto& a, auto& b) { return a.rank < b.rank; });
    self_->request(slots_, caf::infinite, report_slots{}).then([this](const slots_reported& slots) {
      report_.switches = slots.switches;
      report_.switch_ns = slots.switch_ns;
      report_.wall_ns = static_cast<std::uint64_t>(
          (self_->clock().now().time_since_epoch() - run_.start).count());
      self_
          ->request(recorder_, caf::infinite,
                    close_records{outcome_.value_or(errc::none), report_.wall_ns})
          .then([this](const records_closed& closed) {
            report_.findings = closed.findings;
            report_.warnings = closed.warnings;
            report_.trace_bytes = closed.trace_bytes;
            report_.outcome = outcome_                  ? *outcome_
                              : closed.findings.empty() ? errc::none
                                                        : closed.findings.front().kind;
            self_->state.reported.deliver(report_);
          });
    });
  }

  self_pointer self_;
  run_surroundings run_;
  recorder_actor recorder_;
  slot_keeper_actor slots_;
  store_actor store_;
  group_directory_actor groups_;
  std::vector<rank_port_actor> ports_;
  std::set<rank_id> started_, ended_;
  std::optional<errc> outcome_;
  bool finishing_ = false;
  job_report report_;
};

coordinator_self::behavior_type behave(self_pointer self, const run_surroundings& run) {
  auto plan = std::make_shared<run_plan>(self, run);
  return {
      [=](const run_job&) { return plan->start(); },
      [=](const from_launcher::started& process) { plan->started(process); },
      [=](const from_launcher::ended& process) { plan->ended(process); },
      [=](const from_launcher::failed& why) { plan->failed(why); },
      [=](const interrupt_run&) { plan->interrupt(); },
      [=](const terminate_due&) { plan->terminate(); },
      [=](const kill_due&) { plan->kill(); },
      [=](const give_up_on_processes&) { plan->forget_processes(); },
  };
}

}  // namespace

coordinator_actor spawn_coordinator(caf::actor_system& system, const run_surroundings& run) {
  return system.spawn(behave, run);
}

}  // namespace troupe
