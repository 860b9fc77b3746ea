// simulate_command: `troupe simulate`: how long a schedule takes on a modelled network.
//
// Not here: the model (net/loggops_model.hpp), what the report looks like (simulate_report.hpp).
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>

#include "net/loggops_model.hpp"
#include "net/simulation.hpp"
#include "tools/commands.hpp"
#include "tools/json_output.hpp"
#include "tools/network_parameters.hpp"
#include "tools/schedule_input.hpp"
#include "tools/simulate_report.hpp"
#include "tools/timeline_file.hpp"
#include "tools/trace_simulation.hpp"
#include "tools/verb_failure.hpp"

namespace troupe {
namespace {

struct simulate_options {
  std::string file, net = "loggops", preset, network, timeline, json;
  expansion_choice choice;
  std::string values[std::size(parameter_names)];
  bool hosts = false, quiet = false;
};

volatile std::sig_atomic_t was_interrupted = 0;

/// Defaults, then the preset's, then the file's, then those of the command line.
result<loggops_parameters> parameters_of(const simulate_options& options) {
  loggops_parameters made;
  if (!options.preset.empty()) {
    TROUPE_TRY(preset, preset_parameters(options.preset));
    made = preset;
  }
  if (!options.network.empty())
    if (auto read = read_parameters(made, options.network); !read) return read.error();
  for (std::size_t i = 0; i < std::size(parameter_names); ++i) {
    if (options.values[i].empty()) continue;
    const auto& name = parameter_names[i];
    if (auto set = set_parameter(made, name.name, options.values[i]); !set)
      return error{errc::usage, "--" + set.error().context};
  }
  return made;
}

/// A line on a terminal, redrawn now and then.
class simulation_progress {
 public:
  simulation_progress(std::uint64_t operations, bool wanted)
      : operations_(operations), wanted_(wanted && ::isatty(STDERR_FILENO)) {}
  ~simulation_progress() {
    if (drawn_) std::fputs("\r\033[K", stderr);
  }
  void draw(std::uint64_t now_ns, std::uint64_t ended) {
    const auto now = std::chrono::steady_clock::now();
    if (!wanted_ || now - last_ < std::chrono::milliseconds(200)) return;
    last_ = now;
    drawn_ = true;
    std::fprintf(
        stderr, "\r\033[K%3llu %%  %llu of %llu operations, at %.3f ms",
        static_cast<unsigned long long>(ended * 100 / std::max<std::uint64_t>(operations_, 1)),
        static_cast<unsigned long long>(ended), static_cast<unsigned long long>(operations_),
        static_cast<double>(now_ns) / 1e6);
  }

 private:
  std::uint64_t operations_;
  bool wanted_, drawn_ = false;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

int fail(const error& why, nlohmann::ordered_json findings, const std::string& json) {
  if (findings.empty()) {
    findings.push_back({{"kind", to_string(why.code)}, {"text", to_string(why)}});
    complain("simulate", why.code, to_string(why));
  }
  const nlohmann::ordered_json all{{"outcome", to_string(why.code)}, {"findings", findings}};
  if (auto written = write_json(json, all); !written)
    complain("simulate", written.error().code, written.error().context);
  return exit_status(why.code);
}

int report(const simulated_run& run, const trace_simulation* of_trace,
           const nlohmann::ordered_json& of_input, const simulate_options& options) {
  const auto& done = run.result;
  for (const auto& each : done.warnings)
    std::fprintf(
        stderr, "troupe simulate: warning: %s%s\n", each.text.c_str(),
        each.count > 1 ? (" (" + std::to_string(each.count) + " times in all)").c_str() : "");
  for (const auto& each : done.findings) complain("simulate", each.kind, each.text);
  if (options.json != "-" && !options.quiet) {
    auto text = text_of(run, options.hosts);
    if (of_trace) text += of_trace->text();
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
      return complain("simulate", errc::no_resources, "cannot write to standard output");
  }
  auto all = to_json(run);
  for (const auto& each : of_input) all["findings"].push_back(each);
  if (of_trace) of_trace->report(all);
  if (auto written = write_json(options.json, all); !written)
    return complain("simulate", written.error().code, written.error().context);
  return exit_status(outcome_of(done));
}

int simulate_file(const simulate_options& options, const loggops_parameters& parameters) {
  const auto began = std::chrono::steady_clock::now();
  const auto began_cpu = std::clock();
  auto findings = nlohmann::ordered_json::array();
  std::signal(SIGINT, [](int) { was_interrupted = 1; });
  auto input = open_schedule("simulate", options.file, options.choice, findings,
                             [] { return was_interrupted == 0; });
  if (!input) return fail(input.error(), findings, options.json);
  const auto& schedule = input->schedule;
  std::optional<operation_times> times;
  if (input->trace || !options.timeline.empty()) times.emplace(schedule.size());
  loggops_model model(parameters, times ? &*times : nullptr);
  simulation_progress progress(schedule.size(), !options.quiet);
  const auto done = [&] {
    return simulate(schedule, model, {.on_progress = [&](auto now_ns, auto ended) {
                      progress.draw(now_ns, ended);
                      return was_interrupted == 0;
                    }});
  }();
  std::signal(SIGINT, SIG_DFL);
  if (!done) {
    if (done.error().code == errc::bad_input)
      return fail({errc::bad_input, options.file + ": " + done.error().context}, findings,
                  options.json);
    return fail(done.error(), findings, options.json);
  }
  const std::chrono::nanoseconds wall = std::chrono::steady_clock::now() - began;
  const auto cpu_ns = static_cast<std::uint64_t>(static_cast<double>(std::clock() - began_cpu)
                                                 * (1e9 / CLOCKS_PER_SEC));
  const simulated_run run{*done, model, options.file, static_cast<std::uint64_t>(wall.count()),
                          cpu_ns};
  if (!times || !done->findings.empty()) {
    if (!options.timeline.empty())
      std::fprintf(stderr, "troupe simulate: warning: no timeline of what does not end\n");
    return report(run, nullptr, findings, options);
  }
  auto of_trace = trace_simulation::make(*input, *times, net_text(model));
  if (!of_trace) return fail(of_trace.error(), findings, options.json);
  if (auto timed = of_trace->run(options.timeline); !timed) {  // the times are right all the same
    findings.push_back({{"kind", "timeline"}, {"text", to_string(timed.error())}});
    const auto status = complain("simulate", timed.error().code, to_string(timed.error()));
    report(run, nullptr, findings, options);
    return status;
  }
  return report(run, &*of_trace, findings, options);
}

}  // namespace

int simulate_command(int argc, char** argv) {
  CLI::App app{"Says how long F takes on a network: a GOAL file, text or binary, or a trace.",
               "troupe simulate"};
  app.footer(
      "Numbers are LogGOPSim's and have its letters; without any, its defaults (L 2500, o 1500, g "
      "1000,\n"
      "G 6, O 0, S 65535). --preset comes before --network, and that before the other options.\n"
      "Of a trace, computing takes what it took, and communication what the network makes of it.\n"
      "A schedule that does not end, or whose messages do not match, is status 4: it is said who "
      "waits\n"
      "for whom.\n"
      "Exit status: 0 done, 2 usage, 3 F cannot be believed, 4 as above, 6 out of memory, 130 "
      "interrupted.\n\n"
      "Examples: troupe simulate ring.goal --preset atlahs-ai\n"
      "          troupe simulate ring.bin -L 3700 -o 200 -g 5 -G 0.04 -S 0 --json - | jq "
      ".finish_ns\n"
      "          troupe simulate incast.goal --network fabric.yaml --receiver bandwidth\n"
      "          troupe simulate run.prism --preset atlahs-ai --algorithm ring --gpus-per-node 8\n"
      "          troupe simulate ring.goal --timeline ring.perfetto");
  simulate_options options;
  app.add_option("F", options.file, "the schedule")->required()->type_name("FILE");
  app.add_option("--net", options.net, "the network's model")->type_name("loggops");
  app.add_option("--preset", options.preset, "atlahs-ai, atlahs-hpc or atlahs-hpc-paper")
      ->type_name("NAME");
  app.add_option("--network", options.network, "parameters in YAML, by letter or name")
      ->type_name("FILE");
  for (std::size_t i = 0; i < std::size(parameter_names); ++i) {
    const auto& each = parameter_names[i];
    const auto names =
        (*each.letter ? "-" + std::string(each.letter) + "," : std::string()) + "--" + each.name;
    app.add_option(names, options.values[i], each.what)->type_name("VALUE");
  }
  add_expansion_options(app, options.choice);
  app.add_option("--timeline", options.timeline,
                 "write when everything happened to FILE: .perfetto, .pftrace, .json or .prism")
      ->type_name("FILE");
  app.add_flag("--hosts", options.hosts, "each host's time, however many there are");
  app.add_option("--json", options.json,
                 "write the report as JSON to FILE (-: standard output, instead of the text)")
      ->type_name("FILE");
  app.add_flag("-q,--quiet", options.quiet, "no progress line, no text");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& wrong) {
    if (wrong.get_exit_code() == 0) return app.exit(wrong);
    return complain("simulate", errc::usage,
                    std::string{wrong.what()} + " (troupe simulate --help)");
  }
  if (options.net != "loggops")
    return complain("simulate", errc::usage,
                    "--net " + options.net + ": the model that there is is loggops");
  if (auto place =
          check_json_place(options.json, {options.file, options.network, options.timeline});
      !place)
    return complain("simulate", place.error().code, to_string(place.error()));
  if (!options.timeline.empty() && !timeline_format_of(options.timeline))
    return complain(
        "simulate", errc::usage,
        options.timeline + ": expected a name that ends in .perfetto, .pftrace, .json or .prism");
  if (auto place = check_place("--timeline", options.timeline, {options.file, options.network});
      !place)
    return complain("simulate", place.error().code, to_string(place.error()));
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit is an error of write(2), not a death
  const auto parameters = parameters_of(options);
  if (!parameters) return fail(parameters.error(), nlohmann::ordered_json::array(), options.json);
  return simulate_file(options, *parameters);
}

}  // namespace troupe
