// generate_command: `troupe generate`: a communication pattern as a GOAL schedule.
//
// Not here: the patterns (graph/goal/patterns.cpp); `troupe generate llm` (generate_llm.cpp).
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "graph/goal/patterns.hpp"
#include "tools/commands.hpp"
#include "tools/generate_llm.hpp"
#include "tools/goal_conversion.hpp"
#include "tools/json_output.hpp"
#include "tools/nccl_variables.hpp"
#include "tools/verb_failure.hpp"

namespace troupe {
namespace {

std::string list_of_patterns() {
  std::string text = "Patterns:\n";
  for (const auto& each : goal::patterns()) {
    auto name = each.name;
    name.resize(34, ' ');
    text += "  " + name + each.what + "\n";
  }
  return text + "Training steps of language models, as traces: troupe generate llm --help.\n\n";
}

}  // namespace

int generate_command(int argc, char** argv) {
  if (argc > 1 && std::string_view{argv[1]} == "llm") return generate_llm(argc - 1, argv + 1);
  CLI::App app{"Writes the pattern PATTERN as a GOAL schedule.", "troupe generate"};
  app.footer(list_of_patterns()
             + "The schedule ends, and every message has its recv. A step comes after the one before, "
               "on each\n"
               "rank; its number is the messages' tag (where messages may overtake, the number times their\n"
               "lanes, plus the lane). nccl-… heeds NCCL_ALGO, NCCL_PROTO, NCCL_MIN_NCHANNELS,\n"
               "NCCL_MAX_NCHANNELS and NCCL_…BUFFSIZE.\n"
               "Exit status: 0 done, 2 usage, 3 OUT is no place to write, 6 out of disk or memory.\n\n"
               "Examples: troupe generate dissemination --ranks 1024 -o d.goal\n"
               "          troupe generate ring-all-reduce --ranks 64 --size 1000000 -o a.bin\n"
               "          troupe generate sweep --ranks 256 --size 4800 --steps 10 --compute 50000 -o "
               "s.bin");
  std::string name, out, json;
  goal::pattern_options options;
  bool quiet = false;
  app.add_option("PATTERN", name, "the pattern")->required()->type_name("NAME");
  app.add_option("-o,--output", out, "where it goes: .goal (text) or .bin")
      ->required()
      ->type_name("FILE");
  app.add_option("--ranks", options.ranks, "ranks")
      ->check(CLI::Range(std::uint32_t{1}, std::uint32_t{1} << 24))
      ->type_name("N");
  app.add_option("--size", options.size,
                 "bytes a message; of a collective the vector's, or one rank's part")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 53))
      ->type_name("BYTES");
  app.add_option("--chunk", options.chunk_bytes, "bytes a message at most, of a double tree")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 53))
      ->type_name("BYTES");
  app.add_option("--gpus-per-node", options.per_host, "ranks of a node, of NCCL's collectives")
      ->check(CLI::Range(std::uint32_t{1}, std::uint32_t{1} << 12))
      ->type_name("N");
  app.add_option("--inside-bandwidth", options.inside_gb,
                 "GB/s inside a host: a host's ranks become cpus of one, their transfers computing")
      ->check(CLI::Range(1e-3, 1e6))
      ->type_name("GB/S");
  app.add_option("--inside-latency", options.inside_latency_ns, "ns of each transfer inside a host")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 53))
      ->type_name("NS");
  app.add_option("--steps", options.steps, "how often it is done")
      ->check(CLI::Range(std::uint32_t{1}, std::uint32_t{1} << 24))
      ->type_name("N");
  app.add_option("--compute", options.compute_ns,
                 "ns of computing before each step, on each rank (of a sweep before each send too)")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 53))
      ->type_name("NS");
  app.add_option("--json", json, "write what was done as JSON to FILE (-: standard output)")
      ->type_name("FILE");
  app.add_flag("-q,--quiet", quiet, "no closing line");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& wrong) {
    if (wrong.get_exit_code() == 0) return app.exit(wrong);
    return complain("generate", errc::usage,
                    std::string{wrong.what()} + " (troupe generate --help)");
  }
  if (auto place = check_json_place(json, {out}); !place)
    return complain("generate", place.error().code, to_string(place.error()));
  if (!out.ends_with(".goal") && !out.ends_with(".bin"))
    return fail("generate", {errc::usage, out + ": expected a name that ends in .goal or .bin"},
                json);
  if (name.starts_with("nccl-")) {
    auto settings = parse_nccl_settings(nccl_variables());
    if (!settings) return fail("generate", settings.error(), json);
    options.nccl = *settings;
  }
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit is an error of write(2), not a death
  std::string chosen;
  const auto schedule = goal::make_pattern(name, options, &chosen);
  if (!schedule) return fail("generate", schedule.error(), json);
  auto report = write_goal_file(*schedule, out);
  if (!report) return fail("generate", report.error(), json);
  report->update({{"pattern", name}});
  if (!chosen.empty()) report->update({{"algorithm", chosen}});
  if (!quiet && !chosen.empty())
    std::fprintf(stderr, "troupe: %s by %s\n", name.c_str(), chosen.c_str());
  if (!quiet) std::fputs(closing_line(*report).c_str(), stderr);
  if (auto written = write_json(json, *report); !written)
    return complain("generate", written.error().code, written.error().context);
  return 0;
}

}  // namespace troupe
