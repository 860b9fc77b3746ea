// convert_command: `troupe convert`: a trace as a timeline that other tools show, or as a GOAL
// schedule; a GOAL schedule in another form (both: goal_conversion.cpp).
//
// One rank's nodes are in memory at a time. Not here: what the formats hold
// (graph/kineto_exporter.hpp, graph/perfetto_exporter.hpp).
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "graph/prism_trace_reader.hpp"
#include "tools/commands.hpp"
#include "tools/goal_conversion.hpp"
#include "tools/goal_input.hpp"
#include "tools/json_output.hpp"
#include "tools/rank_list.hpp"
#include "tools/schedule_input.hpp"
#include "tools/timeline_file.hpp"
#include "tools/verb_failure.hpp"

namespace troupe {
namespace {

struct convert_options {
  std::string in, out, ranks, json;
  expansion_choice choice;
  timeline_format format{};
  bool quiet = false;
};

std::span<const slot_interval> slots_of(rank_id rank, const execution_graph& tables) {
  const auto begin = std::partition_point(tables.slots.begin(), tables.slots.end(),
                                          [=](const auto& each) { return each.rank < rank; });
  const auto end = std::partition_point(begin, tables.slots.end(),
                                        [=](const auto& each) { return each.rank == rank; });
  return {begin, end};
}

struct conversion {
  std::uint64_t nodes = 0, output_bytes = 0;
};

result<conversion> write_timeline(prism_trace_reader& trace, const std::vector<rank_id>& ranks,
                                  timeline_format format, const std::string& path) {
  TROUPE_TRY(tables, tables_of(trace));
  TROUPE_TRY(
      to, timeline_file::create(path, format, tables,
                                ranks.size() == 1 ? std::optional{ranks.front()} : std::nullopt));
  conversion done;
  for (auto rank : ranks) {
    TROUPE_TRY(nodes, trace.load(rank));
    if (auto added = to->add(rank, nodes, slots_of(rank, tables)); !added) return added.error();
    done.nodes += nodes.size();
  }
  TROUPE_TRY(bytes, to->close());
  done.output_bytes = bytes;
  return done;
}

nlohmann::ordered_json finding(const char* kind, const std::string& text) {
  return {{"kind", kind}, {"text", text}};
}

int fail(const error& why, nlohmann::ordered_json report, const std::string& json) {
  report["outcome"] = to_string(why.code);
  report["findings"].push_back(finding(to_string(why.code), to_string(why)));
  if (auto written = write_json(json, report); !written)
    complain("convert", written.error().code, written.error().context);
  return complain("convert", why.code, to_string(why));
}

void print_summary(const convert_options& options, const nlohmann::ordered_json& report) {
  std::fprintf(stderr, "troupe: %s: %zu of %llu ranks, %llu nodes, %.1f MiB\n", options.out.c_str(),
               report["ranks"].size(), report["world"].get<unsigned long long>(),
               report["nodes"].get<unsigned long long>(),
               report["output_bytes"].get<double>() / static_cast<double>(MiB));
}

int convert(const convert_options& options) {
  const auto began = std::chrono::steady_clock::now();
  nlohmann::ordered_json report{{"outcome", "done"},
                                {"findings", nlohmann::ordered_json::array()},
                                {"input", options.in},
                                {"output", options.out},
                                {"format", to_string(options.format)}};
  std::error_code ignored;
  if (std::filesystem::equivalent(options.in, options.out, ignored))
    return fail({errc::usage, options.out + " is the trace itself"}, report, options.json);
  auto trace = prism_trace_reader::open(options.in);
  if (!trace) return fail(trace.error(), report, options.json);
  result<std::vector<rank_id>> ranks = all_ranks((*trace)->world());
  if (!options.ranks.empty()) ranks = parse_rank_list(options.ranks, (*trace)->world());
  if (!ranks) return fail({errc::usage, "--ranks: " + ranks.error().context}, report, options.json);
  if ((*trace)->is_cut()) {
    report["findings"].push_back(finding("cut_input", (*trace)->cut_text()));
    std::fprintf(stderr, "troupe convert: warning: %s\n", (*trace)->cut_text().c_str());
  }
  auto done = write_timeline(**trace, *ranks, options.format, options.out);
  if (!done) return fail(done.error(), report, options.json);
  report["world"] = (*trace)->world();
  report["ranks"] = nlohmann::ordered_json::array();
  for (auto rank : *ranks) report["ranks"].push_back(rank.value);
  report["nodes"] = done->nodes;
  report["is_cut"] = (*trace)->is_cut();
  report["output_bytes"] = done->output_bytes;
  report["wall_ns"] = std::chrono::nanoseconds(std::chrono::steady_clock::now() - began).count();
  if (!options.quiet) print_summary(options, report);
  if (auto written = write_json(options.json, report); !written)
    return complain("convert", written.error().code, written.error().context);
  return 0;
}

}  // namespace

int convert_command(int argc, char** argv) {
  CLI::App app{
      "Writes the trace IN as a timeline or GOAL schedule OUT, or the GOAL schedule IN in another "
      "form; OUT's ending says in which.",
      "troupe convert"};
  app.footer(
      "Endings: .json                 JSON as PyTorch's profiler writes it (Perfetto,\n"
      "                               chrome://tracing)\n"
      "         .perfetto, .pftrace   Perfetto's own, for https://ui.perfetto.dev: smaller, and "
      "with\n"
      "                               the ranks that each slot held\n"
      "         .goal, .bin           GOAL's text, its binary (txt2bin's; a wider one where a "
      "value "
      "does\n"
      "                               not fit): of a schedule, or of a trace, whose collectives "
      "become\n"
      "                               messages by an algorithm\n"
      "         .prism                of a GOAL schedule: a trace, an operation a node\n"
      "A trace whose writer was killed is read as far as it goes, with a warning. OUT appears "
      "when\n"
      "it is whole, or not at all.\n"
      "Exit status: 0 done, 2 usage, 3 bad input, 6 out of disk or memory, 130 interrupted.\n\n"
      "Examples: troupe convert run.prism run.perfetto\n"
      "          troupe convert run.prism rank3.json --ranks 3\n"
      "          troupe convert run.prism some.json --ranks 0-3,8 --json -\n"
      "          troupe convert ring.goal ring.bin\n"
      "          troupe convert run.prism run.goal --algorithm ring --gpus-per-node 8");
  convert_options options;
  app.add_option("IN", options.in, "the trace or schedule")->required()->type_name("FILE");
  app.add_option("OUT", options.out, "the timeline or schedule")->required()->type_name("FILE");
  app.add_option("--ranks", options.ranks,
                 "these ranks only (of one rank, a .json is what PyTorch writes for one)")
      ->type_name("LIST");
  add_expansion_options(app, options.choice);
  app.add_option("--json", options.json, "write what was done as JSON to FILE (-: standard output)")
      ->type_name("FILE");
  app.add_flag("-q,--quiet", options.quiet, "no closing line");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& wrong) {
    if (wrong.get_exit_code() == 0) return app.exit(wrong);
    return complain("convert", errc::usage, std::string{wrong.what()} + " (troupe convert --help)");
  }
  if (auto place = check_json_place(options.json, {options.in, options.out}); !place)
    return complain("convert", place.error().code, to_string(place.error()));
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit is an error of write(2), not a death
  const bool is_goal = options.out.ends_with(".goal") || options.out.ends_with(".bin");
  if (is_goal || is_goal_file(options.in)) {
    if (!options.ranks.empty())
      return complain("convert", errc::usage, "--ranks: a schedule is converted whole");
    return convert_goal({options.in, options.out, options.json, options.choice, options.quiet});
  }
  if (!options.choice.is_default())
    return complain("convert", errc::usage,
                    "--algorithm, --gpus-per-node, --inside-… and --reduce-per-byte are of a "
                    "schedule (.goal or .bin)");
  const auto format = timeline_format_of(options.out);
  if (!format || *format == timeline_format::prism)
    return complain(
        "convert", errc::usage,
        options.out + ": expected a name that ends in .json, .perfetto, .pftrace, .goal or .bin");
  options.format = *format;
  return convert(options);
}

}  // namespace troupe
