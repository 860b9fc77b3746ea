#include "tools/goal_conversion.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "graph/goal/binary_writer.hpp"
#include "graph/goal/schedule_graph.hpp"
#include "graph/goal/text_writer.hpp"
#include "messages/units.hpp"
#include "tools/json_output.hpp"
#include "tools/replacement_file.hpp"
#include "tools/timeline_file.hpp"

namespace troupe {
namespace {

int complain(const error& why) {
  std::fprintf(stderr, "troupe convert: %s\n", to_string(why).c_str());
  return exit_status(why.code);
}

int fail(const error& why, nlohmann::ordered_json report, const std::string& json) {
  auto status = exit_status(why.code);
  report["outcome"] = to_string(why.code);
  if (report["findings"].empty()) {
    report["findings"].push_back({{"kind", to_string(why.code)}, {"text", to_string(why)}});
    status = complain(why);
  }
  if (auto written = write_json(json, report); !written) complain(written.error());
  return status;
}

/// Returns how many bytes.
result<std::uint64_t> write(const goal::schedule& what, const std::string& path, bool is_binary) {
  TROUPE_TRY(file, replacement_file::reserve(path));
  TROUPE_TRY(opened, output_file::create(file.temporary_path()));
  buffered_output to{std::move(opened)};
  is_binary ? goal::write_binary(what, to) : goal::write_text(what, to);
  if (auto closed = to.close(); !closed) return closed.error();
  if (auto placed = file.put_in_place(); !placed) return placed.error();
  return to.written_bytes();
}

nlohmann::ordered_json report_of(const goal::schedule& what, const std::string& path,
                                 const char* format, std::uint64_t bytes) {
  return {{"outcome", "done"},
          {"findings", nlohmann::ordered_json::array()},
          {"output", path},
          {"format", format},
          {"world", what.ranks()},
          {"operations", what.size()},
          {"dependencies", what.dependency_count()},
          {"output_bytes", bytes}};
}

}  // namespace

result<nlohmann::ordered_json> write_goal_file(const goal::schedule& what,
                                               const std::string& path) {
  const bool is_binary = path.ends_with(".bin");
  TROUPE_TRY(bytes, write(what, path, is_binary));
  return report_of(what, path,
                   !is_binary                 ? "goal"
                   : goal::fits_txt2bin(what) ? "goal_binary"
                                              : "goal_binary_wide",
                   bytes);
}

result<nlohmann::ordered_json> write_graph_file(const goal::schedule& what, const std::string& from,
                                                const std::string& path) {
  TROUPE_TRY(tables, goal::tables_of(what));
  tables.metadata.emplace_back("converted_from", from);
  TROUPE_TRY(to, timeline_file::create(path, timeline_format::prism, tables));
  for (std::uint32_t rank = 0; rank < what.ranks(); ++rank) {
    auto nodes = goal::nodes_of(what, rank);
    if (!nodes) return error{nodes.error().code, from + ": " + nodes.error().context};
    if (auto added = to->add(rank_id{rank}, nodes->nodes, {}); !added) return added.error();
  }
  TROUPE_TRY(bytes, to->close());
  auto report = report_of(what, path, "prism", bytes);
  if (what.nic_max() > 0) {
    const auto text = from + ": a graph has no nics: messages of "
                      + std::to_string(what.nic_max() + 1) + " nics a rank share one in " + path;
    std::fprintf(stderr, "troupe convert: warning: %s\n", text.c_str());
    report["warnings"].push_back({{"kind", "nics_lost"}, {"count", 1}, {"text", text}});
  }
  return report;
}

std::string closing_line(const nlohmann::ordered_json& report) {
  return fmt::format("troupe: {} ({}): {} ranks, {} operations, {:.1f} MiB\n",
                     report["output"].get<std::string>(), report["format"].get<std::string>(),
                     report["world"].get<std::uint64_t>(),
                     report["operations"].get<std::uint64_t>(),
                     report["output_bytes"].get<double>() / static_cast<double>(MiB));
}

int convert_goal(const goal_conversion& what) {
  const auto began = std::chrono::steady_clock::now();
  nlohmann::ordered_json report{{"findings", nlohmann::ordered_json::array()}};
  const bool becomes_trace = what.out.ends_with(".prism");
  if (!what.out.ends_with(".bin") && !what.out.ends_with(".goal") && !becomes_trace)
    return fail({errc::usage, what.out + ": a GOAL schedule becomes .goal, .bin or .prism"}, report,
                what.json);
  std::error_code ignored;
  if (std::filesystem::equivalent(what.in, what.out, ignored))
    return fail({errc::usage, what.out + " is the input itself"}, report, what.json);
  const auto input = open_schedule("convert", what.in, what.choice, report["findings"]);
  if (!input) return fail(input.error(), report, what.json);
  auto written = becomes_trace ? write_graph_file(input->schedule, what.in, what.out)
                               : write_goal_file(input->schedule, what.out);
  if (!written) return fail(written.error(), report, what.json);
  const auto findings = report["findings"];  // of a cut trace
  report = *written;
  report["findings"] = findings;
  report["input"] = what.in;
  report["wall_ns"] = std::chrono::nanoseconds(std::chrono::steady_clock::now() - began).count();
  if (!what.quiet) std::fputs(closing_line(report).c_str(), stderr);
  if (auto done = write_json(what.json, report); !done) return complain(done.error());
  return 0;
}

}  // namespace troupe
