#include "tests/sim/actors/scripted_job.hpp"

#include <caf/actor_registry.hpp>
#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <csignal>
#include <memory>
#include <random>

#include "actors/interfaces.hpp"
#include "actors/outside.hpp"
#include "actors/run_records.hpp"
#include "actors/run_tables.hpp"
#include "actors/system.hpp"
#include "actors/virtual_scheduler.hpp"
#include "gpu/backend.hpp"
#include "gpu/worker_pool.hpp"

namespace troupe::sim {

struct frame_for_rank {
  std::shared_ptr<const to_rank::frame> frame;
};
struct rank_wakes {};
struct rank_signalled {
  std::int32_t number{};
};
struct rank_begins {};

}  // namespace troupe::sim

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::sim::frame_for_rank)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::sim::rank_wakes)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::sim::rank_signalled)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::sim::rank_begins)

namespace troupe::sim {
namespace {

constexpr std::int32_t first_pid = 1000;

class scripted_process;

/// What all processes of the job share.
struct job_stage {
  const job_options& options;
  caf::actor_system& system;
  virtual_scheduler& scheduler;
  payload_pools& pools;
  coordinator_actor coordinator;
  std::mt19937_64 random{options.seed};
  std::uint32_t running = 0, running_max = 0;
  std::vector<std::unique_ptr<scripted_process>> processes;

  nanos delay() {
    if (options.wire_delay_max.count() == 0) return {};
    return nanos{static_cast<std::int64_t>(
        random() % static_cast<std::uint64_t>(options.wire_delay_max.count()))};
  }
};

/// Messages to one receiver that take a while and do not overtake each other.
class channel {
 public:
  explicit channel(job_stage& stage) : stage_(stage) {}
  template <class Handle, class Message>
  void send(const Handle& to, Message message) {
    auto& clock = stage_.scheduler.clock();
    const auto at = std::max(latest_, clock.now() + stage_.delay());
    latest_ = at;
    if (at <= clock.now() && stage_.options.wire_delay_max.count() == 0)
      caf::anon_send(to, std::move(message));
    else
      clock.schedule_message(
          at, caf::actor_cast<caf::strong_actor_ptr>(to),
          caf::make_mailbox_element(nullptr, caf::make_message_id(), {}, std::move(message)));
  }

 private:
  job_stage& stage_;
  caf::actor_clock::time_point latest_{};
};

class scripted_connection final : public rank_connection {
 public:
  scripted_connection(job_stage& stage, caf::actor rank)
      : to_rank_(stage), rank_(std::move(rank)) {}
  void send(const to_rank::frame& frame) override {
    if (rank_) to_rank_.send(rank_, frame_for_rank{std::make_shared<const to_rank::frame>(frame)});
  }
  void send_welcome(const to_rank::welcome& welcome, const std::vector<int>&) override {
    send(welcome);
  }
  void close() override { rank_ = nullptr; }

 private:
  channel to_rank_;
  caf::actor rank_;
};

/// One process: the actor that drives a scripted rank, and its way to its port.
class scripted_process final : public process_surroundings {
 public:
  scripted_process(job_stage& stage, rank_id me, rank_port_actor port)
      : stage_(stage),
        rank_(me, stage.options.world, stage.pools, *this),
        port_(std::move(port)),
        to_troupe_(stage) {
    driver_ = stage.system.spawn([this](caf::event_based_actor* self) -> caf::behavior {
      self_ = self;
      return {
          [this](const frame_for_rank& arrived) { rank_.receive(*arrived.frame); },
          [this](const rank_wakes&) { rank_.wake(); },
          [this](const rank_signalled& signal) { rank_.kill(signal.number); },
          [this](const rank_begins&) { start(); },
      };
    });
    caf::anon_send(driver_, rank_begins{});
  }

  void signal(std::int32_t number) {
    if (number == SIGTERM && stage_.options.ignores_terminate) return;
    caf::anon_send(driver_, rank_signalled{number});
  }
  void signal_at(nanos at, std::int32_t number) {
    stage_.scheduler.clock().schedule_message(
        caf::actor_clock::time_point{at}, caf::actor_cast<caf::strong_actor_ptr>(driver_),
        caf::make_mailbox_element(nullptr, caf::make_message_id(), {}, rank_signalled{number}));
  }
  /// The test is over: nothing of it is needed any more.
  void dismiss() {
    caf::anon_send_exit(driver_, caf::exit_reason::user_shutdown);
    driver_ = nullptr;
    port_ = nullptr;
    connection_ = nullptr;
  }
  const scripted_rank& rank() const { return rank_; }

  nanos now() const override { return stage_.scheduler.now(); }
  void send(const to_troupe::frame& frame) override {
    if (!connection_) return;
    auto frames = std::make_shared<const std::vector<to_troupe::frame>>(1, frame);
    to_troupe_.send(port_, frames_arrived{std::move(frames), connection_.get()});
  }
  void wake_after(nanos time) override { self_->delayed_send(self_, time, rank_wakes{}); }
  void runs(bool running) override {
    running ? ++stage_.running : --stage_.running;
    stage_.running_max = std::max(stage_.running_max, stage_.running);
  }
  void ended(std::int32_t wait_status) override {
    if (connection_)
      to_troupe_.send(port_, connection_lost{connection_.get(), {errc::none, "the end"}});
    caf::anon_send(stage_.coordinator,
                   from_launcher::ended{rank_.me, pid(), wait_status, rank_.cpu_ns(), 4096});
    self_->quit();
  }

 private:
  std::int32_t pid() const { return first_pid + static_cast<std::int32_t>(rank_.me.value); }

  void start() {
    caf::anon_send(stage_.coordinator, from_launcher::started{rank_.me, pid()});
    const auto& silent = stage_.options.never_connect;
    if (std::find(silent.begin(), silent.end(), rank_.me) != silent.end()) {
      ended(0);
      return;
    }
    connection_ = std::make_shared<scripted_connection>(stage_, driver_);
    rank_.begin(stage_.options.program(rank_));
    to_troupe_.send(port_, rank_connected{connection_, pid()});
  }

  job_stage& stage_;
  scripted_rank rank_;
  rank_port_actor port_;
  channel to_troupe_;
  std::shared_ptr<scripted_connection> connection_;
  caf::event_based_actor* self_ = nullptr;
  caf::actor driver_;
};

class scripted_processes final : public process_control, public process_activity {
 public:
  explicit scripted_processes(job_stage& stage) : stage_(stage) {}
  void signal_all(std::int32_t number) override {
    for (auto& process : stage_.processes)
      if (process->rank().alive()) process->signal(number);
  }
  sample look(std::int32_t pid) override {
    const auto& rank = stage_.processes.at(static_cast<std::size_t>(pid - first_pid))->rank();
    return {rank.cpu_ns(), rank.alive() && rank.asleep(), 1};
  }
  bool may_act(std::int32_t pid, const std::vector<std::int32_t>&, bool) override {
    const auto& helped = stage_.options.have_helpers;
    const auto& rank = stage_.processes.at(static_cast<std::size_t>(pid - first_pid))->rank();
    return std::find(helped.begin(), helped.end(), rank.me) != helped.end();
  }

 private:
  job_stage& stage_;
};

}  // namespace

job_outcome run(const job_options& options) {
  job_outcome outcome;
  auto pools = payload_pools::open({.world = options.world,
                                    .memory_bytes = options.memory_bytes,
                                    .spill_bytes = options.spill_bytes,
                                    .spill_folder = "/tmp"});
  if (!pools) return outcome;
  auto memory = make_host_backend();
  auto workers = make_inline_pool();
  run_tables tables;
  virtual_time_config config;
  caf::actor_system system{config};
  auto& scheduler = dynamic_cast<virtual_scheduler&>(system.scheduler());
  job_stage stage{options, system, scheduler, **pools, {}};
  scripted_processes processes{stage};

  std::unique_ptr<run_records> records;
  if (!options.trace.empty()) {
    auto opened = run_records::open({.trace = options.trace,
                                     .journal = options.trace + ".journal",
                                     .plan = {.program = "scripted",
                                              .arguments = {},
                                              .world = options.world,
                                              .slots = options.slots,
                                              .trace = options.trace,
                                              .pid = 1,
                                              .version = "test"},
                                     .metadata = {},
                                     .now = [&] { return scheduler.now(); }},
                                    tables);
    if (!opened) return outcome;
    records = std::move(*opened);
  }

  run_surroundings around;
  around.world = options.world;
  around.slots = options.slots;
  around.eager_bytes = options.eager_bytes;
  around.start = scheduler.now();
  around.memory = memory.get();
  around.workers = workers.get();
  around.pools = pools->get();
  around.tables = &tables;
  around.records = records.get();
  around.processes = &processes;
  around.activity = options.finds_sleepers ? &processes : nullptr;
  around.introduce_port = [&](rank_id rank, rank_port_actor port) {
    stage.processes.push_back(std::make_unique<scripted_process>(stage, rank, std::move(port)));
  };
  stage.coordinator = spawn_coordinator(system, around);
  system.spawn([&](caf::event_based_actor* self) {
    self->request(stage.coordinator, caf::infinite, run_job{})
        .then([&](const job_report& report) { outcome.report = report; }, [](const caf::error&) {});
  });
  scheduler.drain();
  for (const auto& kill : options.kills)
    stage.processes.at(kill.rank.value)->signal_at(kill.at, kill.signal);
  if (options.interrupt_at)
    scheduler.clock().schedule_message(
        caf::actor_clock::time_point{*options.interrupt_at},
        caf::actor_cast<caf::strong_actor_ptr>(stage.coordinator),
        caf::make_mailbox_element(nullptr, caf::make_message_id(), {}, interrupt_run{}));

  constexpr std::chrono::milliseconds step{10};
  while (!outcome.report && scheduler.now() < options.limit)
    scheduler.run_until(scheduler.now() + step);
  outcome.ended = scheduler.now();
  outcome.running_max = stage.running_max;
  outcome.messages = scheduler.resumed();
  caf::anon_send_exit(stage.coordinator, caf::exit_reason::user_shutdown);
  stage.coordinator = nullptr;
  if (outcome.report) {
    scheduler.drain();  // what ends by itself has ended
    outcome.actors_left = system.registry().running();
  }
  for (auto& process : stage.processes) {
    outcome.regions_busy += process->rank().regions_busy();
    process->dismiss();
  }
  scheduler.run();
  return outcome;
}

}  // namespace troupe::sim
