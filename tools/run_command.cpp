// run_command: `troupe run`: every rank real, a few at a time; the losses are right and a trace is
// left behind.
//
// Not here: the run itself (run_session.cpp, actors/coordinator.cpp); the processes
// (interpose/launch).
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <thread>

#include "interpose/cudart/device_fields.hpp"
#include "interpose/launch/launch_command.hpp"
#include "tools/commands.hpp"
#include "tools/device_file.hpp"
#include "tools/json_output.hpp"
#include "tools/run_report.hpp"
#include "tools/run_session.hpp"
#include "tools/verb_failure.hpp"

namespace troupe {
namespace {

constexpr std::uint32_t world_max = 1u << 16;

std::string fresh_trace_name() {
  char stamp[32];
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
  return fmt::format("troupe-{}-{}.prism", stamp, ::getpid());
}

std::uint64_t default_memory() {
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE)) / 4;
}

std::uint64_t runner_cpu_ns() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  auto ns = [](const timeval& t) {
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000
           + static_cast<std::uint64_t>(t.tv_usec) * 1000;
  };
  return ns(used.ru_utime) + ns(used.ru_stime);
}

/// Refuses what CLI11 would read as another value: nothing, and a number below 0 (as a huge one).
std::string refuse_empty(const std::string& text) {
  return text.empty() ? "a name must not be empty" : "";
}
std::string refuse_negative(std::string& text) {
  return text.find('-') == std::string::npos ? "" : "a size must not be negative: " + text;
}

/// How many ranks there are and how many are told to be on one host, from what was said of --world,
/// --hosts and --per-host (0: nothing).
result<void> place_on_hosts(run_options& options, bool world_given, std::uint32_t hosts,
                            std::uint32_t per_host) {
  if (hosts && per_host && !world_given) {
    if (std::uint64_t{hosts} * per_host > world_max)
      return error{errc::usage, fmt::format("--hosts {} of --per-host {} ranks are more than {}",
                                            hosts, per_host, world_max)};
    options.world = hosts * per_host;
  }
  if (options.once && (hosts || per_host))
    return error{errc::usage,
                 "a program that starts its ranks itself says where they are: no "
                 "--hosts and no --per-host"};
  options.per_host = per_host ? per_host : options.world / std::max(hosts, 1u);
  if (hosts && per_host && hosts * std::uint64_t{per_host} != options.world)
    return error{errc::usage,
                 fmt::format("--hosts {} of --per-host {} ranks are not a --world of {}", hosts,
                             per_host, options.world)};
  if (options.per_host == 0 || options.world % options.per_host != 0
      || (hosts && options.world % hosts != 0))
    return error{errc::usage,
                 hosts ? fmt::format("a --world of {} ranks is not the same number on each of {} "
                                     "--hosts",
                                     options.world, hosts)
                       : fmt::format("a --world of {} ranks does not fill hosts of --per-host {}",
                                     options.world, per_host)};
  return {};
}

/// A launcher is executed once; what it says of the world is the world, and --world must agree.
result<void> look_for_launcher(run_options& options, bool world_given) {
  TROUPE_TRY(launcher, recognize_launcher(options.command));
  if (launcher.name.empty()) return {};
  options.once = true;
  if (launcher.world == 0 && !world_given)
    return error{errc::usage, fmt::format("{} does not say in its arguments how many ranks it "
                                          "starts: --world must",
                                          launcher.name)};
  if (launcher.world > world_max
      || (launcher.world && world_given && launcher.world != options.world))
    return error{errc::usage, fmt::format("{} starts {} ranks, --world says {}", launcher.name,
                                          launcher.world, options.world)};
  if (launcher.world) options.world = launcher.world;
  return {};
}

/// A file becomes the fields that ranks are given.
result<void> read_device(run_options& options) {
  if (!is_device_file(options.device)) return {};
  TROUPE_TRY(device, read_device_file(options.device));
  options.device = to_fields(device);
  if (!options.devices) options.devices = static_cast<std::uint32_t>(device.devices_per_host);
  return {};
}

}  // namespace

int run_command(int argc, char** argv) {
  CLI::App app{
      "Runs PROGRAM as a job of N ranks, every rank real, K of them at a time, on this machine.",
      "troupe run"};
  app.footer(
      "Ranks get RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, GROUP_RANK, MASTER_ADDR, "
      "MASTER_PORT, as from\ntorchrun.\n"
      "Exit status: 0 done, 1 the program failed, 2 usage, 3 bad input, 4 mismatch, deadlock or a "
      "lost rank,\n"
      "6 out of resources, 70 a bug of troupe, 130 interrupted.\n\n"
      "Example: troupe run --world 16 --slots 2 -- python3 train.py --epochs 3");
  run_options options;
  const auto cores = std::max(1u, std::thread::hardware_concurrency());
  std::string json;
  bool quiet = false, no_trace = false;
  auto* world = app.add_option("--world", options.world, "ranks of the job")
                    ->check(CLI::Range(1u, world_max))
                    ->capture_default_str();
  std::uint32_t hosts = 0, per_host = 0;
  app.add_option("--hosts", hosts,
                 "hosts that ranks are told to be on, all the same size (default: 1)")
      ->check(CLI::Range(1u, world_max));
  app.add_option("--per-host", per_host, "ranks of one host (default: --world / --hosts)")
      ->check(CLI::Range(1u, world_max));
  auto* slots = app.add_option("--slots", options.slots,
                               "ranks that run at the same time (default: the cores, here "
                                   + std::to_string(cores) + ")")
                    ->check(CLI::Range(1u, world_max));
  auto* trace = app.add_option(
      "--trace", options.trace,
      "where the trace goes (default: troupe-DATE-TIME-PID.prism); its journal lies beside it");
  trace->check(refuse_empty, "");
  app.add_flag("--no-trace", no_trace, "leave no trace")->excludes(trace);
  app.add_option("--json", json,
                 "write the report as JSON to FILE (-: standard output; the program's own then "
                 "goes to standard error)")
      ->type_name("FILE")
      ->check(refuse_empty, "");
  options.memory_bytes = default_memory();
  options.spill_bytes = 64 * GiB;
  app.add_option("--pool-memory", options.memory_bytes,
                 "memory for payloads (default: a quarter of this machine's)")
      ->transform(CLI::AsSizeValue(false))
      ->transform(CLI::Validator{refuse_negative, ""});
  app.add_option("--pool-spill", options.spill_bytes,
                 "disk for payloads beyond that (default: 64 GiB)")
      ->transform(CLI::AsSizeValue(false))
      ->transform(CLI::Validator{refuse_negative, ""});
  const char* temporary = std::getenv("TMPDIR");
  options.spill_folder = temporary && *temporary ? temporary : "/tmp";
  app.add_option("--pool-folder", options.spill_folder,
                 "where the spill file lies (default: $TMPDIR or /tmp)")
      ->check(refuse_empty, "");
  auto* capacity =
      app.add_option("--tensor-memory", options.tensor_bytes_max,
                     "what the CPU tensors of a rank hold at most; an allocation beyond it raises "
                     "torch's OutOfMemoryError (default: no limit)")
          ->transform(CLI::AsSizeValue(false))
          ->transform(CLI::Validator{refuse_negative, ""});
  app.add_flag("--once", options.once,
               "PROGRAM is executed once and starts the ranks itself (understood of torchrun, "
               "torch.distributed.run and .launch, accelerate launch, mpirun)");
  app.add_option("--cuda", options.cuda,
                 "what cuda means to ranks: cpu, it is mapped to the CPU; real, it is left alone; "
                 "auto, it is mapped where there is no GPU")
      ->check(CLI::IsMember({"auto", "cpu", "real"}))
      ->capture_default_str();
  app.add_option("--device", options.device,
                 "run CUDA and NCCL programs on a host device, which is such a GPU: "
                     + device_profile_names() + ", or a YAML file of one (default: none)")
      ->check(
          [](const std::string& name) {
            return is_device_file(name) || find_device_profile(name)
                       ? std::string{}
                       : "there is no device \"" + name + "\", only " + device_profile_names()
                             + ", and files (NAME.yaml)";
          },
          "");
  app.add_option(
         "--devices", options.devices,
         "GPUs of a host with --device (default: the file's, or 8, or one a rank of the host)")
      ->check(CLI::Range(1u, world_max))
      ->needs("--device");
  app.add_option("--nccl-order", options.nccl_order,
                 "what orders NCCL's messages with --device: communicator, as NCCL does; stream, "
                 "their streams alone")
      ->check(CLI::IsMember({"communicator", "stream"}))
      ->needs("--device")
      ->capture_default_str();
  app.add_option(
         "--semantics", options.semantics,
         "whose rules process groups follow (which types and reductions there are, messages "
         "by tag or in order): gloo, nccl, mpi; asked: those of the backend that the "
         "program names")
      ->check(CLI::IsMember({"asked", "gloo", "nccl", "mpi"}))
      ->capture_default_str();
  app.add_option("--eager-sends", options.eager_bytes,
                 "bytes that a rank's sends to another may have on the way without their recv "
                 "(default: 0, a send waits for its recv)")
      ->transform(CLI::AsSizeValue(false))
      ->transform(CLI::Validator{refuse_negative, ""});
  double warn_after = 60;
  app.add_option("--warn-after", warn_after,
                 "seconds after which ranks that wait and may do so for ever are warned of; five "
                 "times as long when no rank calls anything")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  app.add_flag("-q,--quiet", quiet, "no progress line, no closing lines");
  app.add_option("command", options.command, "PROGRAM ARGS...")->required();
  app.positionals_at_end();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& wrong) {
    if (wrong.get_exit_code() == 0) return app.exit(wrong);
    return complain("run", errc::usage, std::string{wrong.what()} + " (troupe run --help)");
  }
  if (capacity->count() && options.tensor_bytes_max == 0)
    return fail("run", {errc::usage, "--tensor-memory 0 would hold no tensor at all"}, json);
  if (auto found = look_for_launcher(options, world->count() > 0); !found)
    return fail("run", found.error(), json);
  if (auto placed = place_on_hosts(options, world->count() > 0, hosts, per_host); !placed)
    return fail("run", placed.error(), json);
  if (auto read = read_device(options); !read) return fail("run", read.error(), json);
  options.warn_after = nanos{static_cast<std::int64_t>(warn_after * 1e9)};
  if (!slots->count()) options.slots = std::min(cores, options.world);
  if (options.slots > options.world)
    return fail("run",
                {errc::usage, fmt::format("--slots {} is more than the --world of {} ranks: "
                                          "a slot more than a rank can never be used",
                                          options.slots, options.world)},
                json);
  if (options.trace.empty() && !no_trace) options.trace = fresh_trace_name();
  std::vector<std::string> own_files;
  if (!options.trace.empty()) own_files = {options.trace, options.trace + ".journal"};
  if (auto place = check_json_place(json, own_files); !place)
    return complain("run", place.error().code, to_string(place.error()));
  options.output_to_stderr = json == "-";
  options.progress = !quiet;
  // Errors of write(2), not deaths: the output's relay and the trace's writer see to them.
  for (int number : {SIGPIPE, SIGXFSZ}) std::signal(number, SIG_IGN);

  run_tables tables;
  auto report = run_here(options, tables);
  if (!report) return fail("run", report.error(), json);
  const run_account account{*report,       tables,          options.world,           options.slots,
                            options.trace, runner_cpu_ns(), options.tensor_bytes_max};
  if (!quiet || report->outcome != errc::none) {
    auto lines = summary(account);
    for (std::size_t begin = 0; begin <= lines.size();) {
      const auto end = std::min(lines.find('\n', begin), lines.size());
      std::fprintf(stderr, "troupe: %s\n", lines.substr(begin, end - begin).c_str());
      begin = end + 1;
    }
  }
  if (report->outcome == errc::none && capacity_was_idle(account))
    std::fprintf(stderr,
                 "troupe run: --tensor-memory limited nothing: no rank imported a torch whose "
                 "tensors can be counted\n");
  if (auto written = write_json(json, to_json(account)); !written)
    return complain("run", written.error().code, written.error().context);
  return exit_status(report->outcome);
}

}  // namespace troupe
