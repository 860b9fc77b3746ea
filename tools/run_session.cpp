#include "tools/run_session.hpp"

#include <unistd.h>
#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <thread>

#include "actors/errors.hpp"
#include "actors/interfaces.hpp"
#include "actors/payload_pools.hpp"
#include "actors/proc_activity.hpp"
#include "actors/rank_listener.hpp"
#include "actors/run_records.hpp"
#include "actors/slot_cores.hpp"
#include "actors/system.hpp"
#include "gpu/backend.hpp"
#include "gpu/worker_pool.hpp"
#include "interpose/cudart/program_image.hpp"
#include "interpose/launch/launcher.hpp"
#include "interpose/launch/program.hpp"
#include "tools/launch_link.hpp"
#include "tools/library_folder.hpp"
#include "tools/output_relay.hpp"
#include "tools/progress_line.hpp"

namespace troupe {
namespace {

/// Has Open MPI say in its loops that others may run (interpose/preload/yield.cpp).
constexpr const char* yield_variable = "OMPI_MCA_mpi_yield_when_idle";

nanos now() { return std::chrono::steady_clock::now().time_since_epoch(); }

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

result<std::unique_ptr<run_records>> open_records(const run_options& options, nanos start,
                                                  run_tables& tables) {
  run_records::options how;
  how.trace = options.trace;
  how.journal = options.trace + ".journal";
  how.plan = {options.command.front(), {options.command.begin() + 1, options.command.end()},
              options.world,           options.slots,
              options.trace,           ::getpid(),
              TROUPE_VERSION};
  how.metadata = {{"program", joined(options.command)},
                  {"slots", std::to_string(options.slots)},
                  {"troupe", TROUPE_VERSION}};
  how.now = [start] { return now() - start; };
  return run_records::open(std::move(how), tables);
}

std::vector<output_relay::source> sources_of(const launcher& ranks, const run_options& options) {
  std::vector<output_relay::source> all;
  for (std::uint32_t rank = 0; rank < ranks.outputs.size(); ++rank) {
    const auto& pipes = ranks.outputs[rank];
    const auto prefix = rank < options.world ? "[" + std::to_string(rank) + "] " : "";
    all.push_back(
        {prefix, pipes.standard_output, options.output_to_stderr ? STDERR_FILENO : STDOUT_FILENO});
    all.push_back({prefix, pipes.standard_error, STDERR_FILENO});
  }
  return all;
}

/// Its libraries come before NVIDIA's in every process of the run.
result<void> put_host_device(const run_options& options, const std::string& program,
                             launch_plan& plan) {
  if (const auto obstacle = open_program_image(program.c_str()).obstacle(); !obstacle.empty())
    return error{errc::bad_input, program + ": " + obstacle};
  const auto folder = plan.library_folder + "/host-device/";
  std::error_code code;
  for (const auto* name : {"libcudart.so.13", "libnccl.so.2"})
    if (std::filesystem::exists(folder + name, code)) plan.preloads.push_back(folder + name);
  if (plan.preloads.empty())
    return error{errc::usage, "--device: there is no host device in " + folder
                                  + ": it is built where CUDA 13's headers are found (CUDA_HOME)"};
  plan.environment.emplace_back("TROUPE_DEVICE", options.device);
  plan.environment.emplace_back("TROUPE_NCCL_ORDER", options.nccl_order);
  if (options.devices)
    plan.environment.emplace_back("TROUPE_DEVICES", std::to_string(options.devices));
  return {};
}

/// Asks the coordinator for the run and waits for its report.
result<job_report> await_report(caf::actor_system& system, const coordinator_actor& coordinator) {
  std::promise<result<job_report>> promised;
  auto report = promised.get_future();
  system.spawn([&promised, coordinator](caf::event_based_actor* self) {
    self->request(coordinator, caf::infinite, run_job{})
        .then([&promised](const job_report& report) { promised.set_value(report); },
              [&promised](const caf::error& why) { promised.set_value(from_caf(why)); });
  });
  return report.get();
}

}  // namespace

result<job_report> run_here(const run_options& options, run_tables& tables) {
  const auto start = now();
  // Whatever can be refused is refused before a former trace is overwritten and the program starts.
  TROUPE_TRY(libraries, library_folder());
  TROUPE_TRY(program, find_program(options.command));
  TROUPE_TRY(pools, payload_pools::open({options.world, options.memory_bytes, options.spill_bytes,
                                         options.spill_folder}));
  TROUPE_TRY(listener, rank_listener::open(options.world));

  std::unique_ptr<run_records> records;
  if (!options.trace.empty()) {
    TROUPE_TRY(opened, open_records(options, start, tables));
    records = std::move(opened);
  }

  launch_plan plan;
  plan.command = options.command;
  plan.world = options.world;
  plan.per_host = options.per_host;
  plan.once = options.once;
  plan.environment = {{"TROUPE_SOCKET", listener->name()},
                      {"TROUPE_CUDA", options.cuda},
                      {"TROUPE_SEMANTICS", options.semantics},
                      {"TROUPE_TENSOR_MEMORY", std::to_string(options.tensor_bytes_max)}};
  if (options.once && !std::getenv(yield_variable))
    plan.environment.emplace_back(yield_variable, "1");
  plan.library_folder = libraries;
  if (!options.device.empty())
    if (auto put = put_host_device(options, program.path, plan); !put) return put.error();
  TROUPE_TRY(ranks, launcher::start(plan));  // forks: before any thread
  const auto cores = std::max(std::thread::hardware_concurrency(), 1u);
  TROUPE_TRY(workers, make_worker_pool(std::min(cores, 4u)));
  launch_link link{ranks.control()};

  auto memory = make_host_backend();
  auto activity = make_proc_activity();
  auto placement = make_slot_cores(options.slots);
  // One rank's output may be anywhere in a line.
  progress_line progress{tables, options.world, options.progress && options.world > 1};
  output_relay relay{sources_of(ranks, options), options.world > 1 || options.once,
                     [&] { progress.clear(); }};

  run_surroundings run;
  run.world = options.world;
  run.slots = options.slots;
  run.start = start;
  run.memory = memory.get();
  run.workers = workers.get();
  run.pools = pools.get();
  run.tables = &tables;
  run.records = records.get();
  run.processes = &link;
  run.activity = activity.get();
  run.placement = placement.get();
  run.warn_after = options.warn_after;
  run.eager_bytes = options.eager_bytes;
  run.warn = [&](const std::string& text) {
    progress.clear();
    std::fprintf(stderr, "troupe run: warning: %s\n", text.c_str());
  };

  wall_time_config config;
  caf::actor_system system{config};
  coordinator_actor coordinator;
  run.introduce_port = [&, known = 0u](rank_id rank, rank_port_actor port) mutable {
    listener->introduce(rank, std::move(port));
    if (++known < options.world) return;
    // Only now can a rank, or the end of one, be answered.
    listener->start(dynamic_cast<wall_scheduler&>(system.scheduler()),
                    [&] { return tables.ranks_running < cores; });
    link.start(coordinator);
  };
  coordinator = spawn_coordinator(system, run);
  auto report = await_report(system, coordinator);
  link.end();
  link.stop();
  listener->stop();
  caf::anon_send_exit(coordinator, caf::exit_reason::user_shutdown);
  coordinator = nullptr;
  system.await_all_actors_done();
  workers = nullptr;  // its jobs hold handles: they end before the system does
  if (!relay.finish() && report && report->outcome == errc::none)
    report->outcome = errc::no_resources;
  return report;
}

}  // namespace troupe
