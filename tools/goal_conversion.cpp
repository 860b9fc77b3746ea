#include "tools/goal_conversion.hpp"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "graph/goal/binary_writer.hpp"
#include "graph/goal/text_writer.hpp"
#include "messages/units.hpp"
#include "tools/goal_input.hpp"
#include "tools/json_output.hpp"
#include "tools/replacement_file.hpp"

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

}  // namespace

int convert_goal(const goal_conversion& what) {
  const auto began = std::chrono::steady_clock::now();
  const bool is_binary = what.out.ends_with(".bin");
  nlohmann::ordered_json report{{"outcome", "done"},
                                {"findings", nlohmann::ordered_json::array()},
                                {"input", what.in},
                                {"output", what.out}};
  if (!is_binary && !what.out.ends_with(".goal"))
    return fail({errc::usage, what.out + ": a GOAL schedule becomes .goal or .bin"}, report,
                what.json);
  std::error_code ignored;
  if (std::filesystem::equivalent(what.in, what.out, ignored))
    return fail({errc::usage, what.out + " is the schedule itself"}, report, what.json);
  const auto schedule = read_goal("convert", what.in, report["findings"]);
  if (!schedule) return fail(schedule.error(), report, what.json);
  const auto* const format = !is_binary                      ? "goal"
                             : goal::fits_txt2bin(*schedule) ? "goal_binary"
                                                             : "goal_binary_wide";
  const auto written = write(*schedule, what.out, is_binary);
  if (!written) return fail(written.error(), report, what.json);
  report["format"] = format;
  report["world"] = schedule->ranks();
  report["operations"] = schedule->size();
  report["dependencies"] = schedule->dependency_count();
  report["output_bytes"] = *written;
  report["wall_ns"] = std::chrono::nanoseconds(std::chrono::steady_clock::now() - began).count();
  if (!what.quiet)
    std::fprintf(stderr, "troupe: %s (%s): %u ranks, %u operations, %.1f MiB\n", what.out.c_str(),
                 format, schedule->ranks(), schedule->size(),
                 static_cast<double>(*written) / static_cast<double>(MiB));
  if (auto done = write_json(what.json, report); !done) return complain(done.error());
  return 0;
}

}  // namespace troupe
