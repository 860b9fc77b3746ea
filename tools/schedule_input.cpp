#include "tools/schedule_input.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "graph/prism_trace_format.hpp"
#include "tools/goal_input.hpp"
#include "tools/nccl_variables.hpp"

namespace troupe {

void add_expansion_options(CLI::App& app, expansion_choice& to) {
  app.add_option("--algorithm", to.algorithm,
                 "of a trace: how those of its collectives are done that it knows (default, and of "
                 "the others: what MPICH takes)")
      ->type_name("NAME");
  app.add_option("--gpus-per-node", to.gpus_per_node,
                 "of a trace: so many ranks are one node; what they send each other stays in it")
      ->check(CLI::Range(1u, 65535u))
      ->type_name("N");
  app.add_option("--inside-latency", to.inside_latency_ns, "ns of each such transfer")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 53))
      ->type_name("NS");
  app.add_option("--inside-bandwidth", to.inside_gb, "GB/s of each such transfer")
      ->check(CLI::Range(1e-3, 1e6))
      ->type_name("GB/S");
  app.add_option("--reduce-per-byte", to.reduce_per_byte_ns,
                 "of a trace: ns of each byte that is received and reduced")
      ->check(CLI::Range(0.0, 1e6))
      ->type_name("NS");
}

result<goal::trace_expansion_options> options_of(const expansion_choice& choice) {
  goal::trace_expansion_options made;
  if (!choice.algorithm.empty()) {
    TROUPE_TRY(how, parse_algorithm(choice.algorithm));
    made.how.how = how;
  }
  if (made.how.how == algorithm::nccl) {
    TROUPE_TRY(nccl, parse_nccl_settings(nccl_variables()));
    made.how.nccl = nccl;
  }
  if (choice.gpus_per_node == 1 && (choice.inside_latency_ns > 0 || choice.inside_gb > 0))
    return error{errc::usage,
                 "--inside-latency and --inside-bandwidth are of --gpus-per-node 2 or more"};
  made.gpus_per_node = choice.gpus_per_node;
  made.inside_latency_ns = choice.inside_latency_ns;
  made.inside_ns_per_byte = choice.inside_gb > 0 ? 1 / choice.inside_gb : 0;
  made.reduce_ns_per_byte = choice.reduce_per_byte_ns;
  return made;
}

namespace {

bool is_trace_file(const std::string& path) {
  std::array<std::uint8_t, prism_trace_format::file_magic.size()> begin;
  const auto file = input_file::open(path);
  return file && file->size() >= begin.size() && file->read(0, begin)
         && std::equal(begin.begin(), begin.end(), prism_trace_format::file_magic.begin());
}

void told(const std::string& verb, const std::string& cut, nlohmann::ordered_json& findings) {
  std::fprintf(stderr, "troupe %s: warning: %s\n", verb.c_str(), cut.c_str());
  findings.push_back({{"kind", "cut_input"}, {"text", cut}});
}

result<schedule_input> expand(const std::string& verb, const std::string& path,
                              const expansion_choice& choice, const std::function<bool()>& go_on,
                              nlohmann::ordered_json& findings) {
  TROUPE_TRY(options, options_of(choice));
  options.go_on = go_on;
  schedule_input made;
  TROUPE_TRY(trace, prism_trace_reader::open(path));
  made.trace = std::move(trace);
  if (made.trace->is_cut()) told(verb, made.trace->cut_text(), findings);
  auto expanded = goal::expand_trace(*made.trace, options);
  if (!expanded) {
    const auto& why = expanded.error();
    const bool names_file = why.context.rfind(path, 0) == 0;
    return error{why.code, names_file ? why.context : path + ": " + why.context};
  }
  made.schedule = std::move(expanded->made);
  made.places = std::move(expanded->places);
  made.algorithms = std::move(expanded->algorithms);
  return made;
}

}  // namespace

result<schedule_input> open_schedule(const std::string& verb, const std::string& path,
                                     const expansion_choice& choice,
                                     nlohmann::ordered_json& findings,
                                     const std::function<bool()>& go_on) {
  const auto tell = [&](const error& why) {
    std::fprintf(stderr, "troupe %s: %s\n", verb.c_str(), to_string(why).c_str());
    findings.push_back({{"kind", to_string(why.code)}, {"text", to_string(why)}});
    return why;
  };
  if (!is_trace_file(path)) {
    if (!choice.is_default() && is_goal_file(path))
      return tell({errc::usage, path
                                    + ": a GOAL schedule has no collectives and no GPUs; "
                                      "--algorithm, --gpus-per-node, --inside-… and "
                                      "--reduce-per-byte are of traces"});
    schedule_input made;
    TROUPE_TRY(schedule, read_goal(verb, path, findings));
    made.schedule = std::move(schedule);
    return made;
  }
  auto made = expand(verb, path, choice, go_on, findings);
  if (!made) return tell(made.error());
  return made;
}

result<execution_graph> tables_of(prism_trace_reader& trace) {
  execution_graph tables;
  tables.world = trace.world();
  tables.stage = trace.stage();
  tables.communicators = trace.communicators();
  tables.call_sites = trace.call_sites();
  tables.metadata = trace.metadata();
  if (trace.is_cut()) tables.metadata.emplace_back("incomplete", trace.cut_text());
  TROUPE_TRY(slots, trace.load_slots());
  std::stable_sort(slots.begin(), slots.end(),
                   [](const auto& a, const auto& b) { return a.rank < b.rank; });
  tables.slots = std::move(slots);
  return tables;
}

}  // namespace troupe
