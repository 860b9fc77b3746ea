#include "tools/generate_llm.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <deque>
#include <nlohmann/json.hpp>

#include "graph/prism_trace_writer.hpp"
#include "graph/workload/llm_settings.hpp"
#include "graph/workload/llm_step.hpp"
#include "tools/inspect_report.hpp"
#include "tools/json_output.hpp"
#include "tools/llm_description.hpp"
#include "tools/replacement_file.hpp"
#include "tools/verb_failure.hpp"

namespace troupe {
namespace {

using workload::llm_step;
using workload::llm_summary;

struct request {
  std::string model, device, out, json;
  std::deque<std::pair<const workload::llm_setting*, std::string>> settings;  // "": not given
  bool quiet = false;
};

std::string names_of_models() {
  std::string names;
  for (const auto& model : workload::known_models())
    names += (names.empty() ? "" : ", ") + model.name;
  return names;
}

void add_options(CLI::App& app, request& into) {
  app.add_option("MODEL", into.model, "a built-in model, or a description's FILE.yaml")
      ->required()
      ->type_name("NAME|FILE");
  app.add_option("-o,--output", into.out, "where it goes: a trace, .prism")
      ->required()
      ->type_name("FILE");
  app.add_option("--device", into.device, "what computes: a100, b200, h100, h200 (h100)")
      ->type_name("NAME");
  for (const auto& setting : workload::llm_settings()) {
    auto& [which, text] = into.settings.emplace_back(&setting, "");
    const std::string name = setting.name;
    if (std::holds_alternative<workload::flag_setting>(setting.field))
      app.add_flag("--" + name + ",!--no-" + name, text, setting.what);
    else
      app.add_option("--" + name, text, setting.what)
          ->type_name(std::holds_alternative<workload::word_setting>(setting.field) ? "TEXT" : "N");
  }
  app.add_option("--json", into.json, "write what was done as JSON to FILE (-: standard output)")
      ->type_name("FILE");
  app.add_flag("-q,--quiet", into.quiet, "no closing line");
}

/// What the command line says comes after the file.
result<llm_step> plan_of(const request& what) {
  TROUPE_TRY(options, read_llm_description(what.model));
  bool has_own = false;
  if (!what.device.empty()) {
    TROUPE_TRY(device, workload::known_device(what.device));
    options.device = device;
    has_own = true;
  }
  for (const auto& [setting, text] : what.settings) {
    if (text.empty()) continue;
    if (auto set = workload::set_setting(options, setting->name, text); !set)
      return error{errc::usage, "--" + set.error().context};
    has_own = true;
  }
  auto step = llm_step::plan(options);
  if (step || has_own || !is_description_file(what.model)) return step;
  return error{errc::bad_input, what.model + ": " + step.error().context};
}

struct written {
  llm_summary summary;
  std::uint64_t bytes{};
};

result<written> write_step(const llm_step& step, const std::string& path) {
  constexpr std::uint32_t ranks_together = 64;  // their chunks are written then
  TROUPE_TRY(file, replacement_file::reserve(path));
  auto metadata = workload::describe(step.options());
  metadata.emplace_back("troupe", TROUPE_VERSION);
  TROUPE_TRY(writer,
             prism_trace_writer::create(file.temporary_path(), {step.world(), graph_stage::timed,
                                                                std::move(metadata), 1}));
  for (const auto& each : step.communicators())
    if (auto added = writer->append(each); !added) return added.error();
  for (std::size_t site = 1; site < workload::step_call_sites().size(); ++site)
    if (auto added = writer->append_call_site(workload::step_call_sites()[site]); !added)
      return added.error();
  std::uint32_t flushed = 0;
  auto summary = step.generate([&](rank_id rank, std::span<const node> nodes) -> result<void> {
    if (rank.value == flushed + ranks_together) {
      flushed = rank.value;
      if (auto done = writer->flush(); !done) return done;
    }
    return writer->append(rank, nodes);
  });
  if (!summary) return summary.error();
  if (auto closed = writer->close(); !closed) return closed.error();
  if (auto placed = file.put_in_place(); !placed) return placed.error();
  return written{std::move(*summary), writer->written_bytes()};
}

nlohmann::ordered_json report_of(const llm_step& step, const written& what, const std::string& out,
                                 std::uint64_t wall_ns) {
  nlohmann::ordered_json report{{"outcome", "done"},
                                {"findings", nlohmann::ordered_json::array()},
                                {"pattern", "llm"},
                                {"output", out},
                                {"format", "prism"},
                                {"world", step.world()},
                                {"nodes", what.summary.nodes},
                                {"communicators", step.communicators().size()},
                                {"output_bytes", what.bytes}};
  const auto& model = step.options().model;
  report["model"] = model.name;
  report["parameters"] = workload::parameters(model).total();
  report["active_parameters"] = workload::active_parameters(model);
  report["tokens"] = step.tokens();
  report["flops"] = what.summary.flops;
  report["stages"] = nlohmann::ordered_json::array();
  for (const auto& stage : what.summary.stages)
    report["stages"].push_back({{"layers", stage.layers},
                                {"parameters", stage.parameters},
                                {"compute_ns", stage.compute_ns}});
  report["wall_ns"] = wall_ns;
  return report;
}

std::string closing_text(const llm_step& step, const written& what, const std::string& out) {
  const auto& stages = what.summary.stages;
  const auto heaviest =
      std::max_element(stages.begin(), stages.end(),
                       [](const auto& a, const auto& b) { return a.compute_ns < b.compute_ns; });
  return fmt::format(
      "troupe: {} (prism): {} ranks, {} nodes, {}\n"
      "troupe: {}: {} tokens and {:.3g} FLOP a step; the busiest stage, {}, has {} layers: a rank "
      "of "
      "it {} parameters and {} of computing\n",
      out, step.world(), what.summary.nodes, human_bytes(what.bytes), step.options().model.name,
      step.tokens(), what.summary.flops, heaviest - stages.begin(), heaviest->layers,
      heaviest->parameters, human_ns(heaviest->compute_ns));
}

int generate(const request& what) {
  const auto began = std::chrono::steady_clock::now();
  if (auto place = check_json_place(what.json, {what.out, what.model}); !place)
    return complain("generate", place.error().code, to_string(place.error()));
  if (!what.out.ends_with(".prism"))
    return fail("generate", {errc::usage, what.out + ": expected a name that ends in .prism"},
                what.json);
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit is an error of write(2), not a death
  const auto step = plan_of(what);
  if (!step) return fail("generate", step.error(), what.json);
  const auto done = write_step(*step, what.out);
  if (!done) return fail("generate", done.error(), what.json);
  const std::chrono::nanoseconds wall = std::chrono::steady_clock::now() - began;
  if (!what.quiet) std::fputs(closing_text(*step, *done, what.out).c_str(), stderr);
  const auto report = report_of(*step, *done, what.out, static_cast<std::uint64_t>(wall.count()));
  if (auto put = write_json(what.json, report); !put)
    return complain("generate", put.error().code, put.error().context);
  return 0;
}

}  // namespace

int generate_llm(int argc, char** argv) {
  CLI::App app{
      "Writes training steps of a language model as a trace (.prism), without any capture.",
      "troupe generate llm"};
  app.footer("Built-in models: " + names_of_models()
             + ".\n"
               "A description is a YAML map of the settings above; `model` and `device` in it name "
               "built-in ones\nto begin with. What the command line says comes after it. Defaults are "
               "in brackets.\n"
               "Exit status: 0 done, 2 usage, 3 a description or OUT that cannot be used, 6 out of "
               "disk or memory.\n\n"
               "Examples: troupe generate llm llama-70b --tp 8 --pp 4 --dp 2 --sequence-parallel -o "
               "step.prism\n"
               "          troupe generate llm mixtral-8x7b --dp 8 --ep 8 --imbalance 1.5 --sequence "
               "4096 -o moe.prism");
  request what;
  add_options(app, what);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& wrong) {
    if (wrong.get_exit_code() == 0) return app.exit(wrong);
    return complain("generate", errc::usage,
                    std::string{wrong.what()} + " (troupe generate llm --help)");
  }
  return generate(what);
}

}  // namespace troupe
