// inspect_command: `troupe inspect`: what is in a trace or a GOAL schedule.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "graph/graph_summary.hpp"
#include "graph/prism_trace_reader.hpp"
#include "tools/commands.hpp"
#include "tools/goal_input.hpp"
#include "tools/goal_report.hpp"
#include "tools/inspect_report.hpp"
#include "tools/json_output.hpp"
#include "tools/verb_failure.hpp"

namespace troupe {
int inspect_command(int argc, char** argv) {
  CLI::App app{
      "Says what is in the trace or GOAL schedule F: operations, traffic between ranks, "
      "digests.",
      "troupe inspect"};
  app.footer(
      "The digest names the program's structure (what, in which order, with which edges; no "
      "times):\n"
      "two traces of one program run agree. Traffic of collectives is what members give each "
      "other;\n"
      "all_reduce and reduce_scatter count as a ring to the next member.\n"
      "A trace whose writer was killed is read as far as it goes, with a warning.\n"
      "Exit status: 0 done, 2 usage, 3 F cannot be believed, 6 out of disk or memory.\n\n"
      "Examples: troupe inspect run.prism --traffic\n"
      "          troupe inspect run.prism --json - | jq .operations");
  std::string file, json;
  bool traffic = false, ranks = false;
  app.add_option("F", file, "the trace or schedule")->required()->type_name("FILE");
  app.add_option("--json", json,
                 "write the summary as JSON to FILE (-: standard output, instead of the text)")
      ->type_name("FILE");
  app.add_flag("--traffic", traffic, "the traffic matrix too");
  app.add_flag("--ranks", ranks, "a line for each rank");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& wrong) {
    if (wrong.get_exit_code() == 0) return app.exit(wrong);
    return complain("inspect", errc::usage, std::string{wrong.what()} + " (troupe inspect --help)");
  }

  if (auto place = check_json_place(json, {file}); !place)
    return complain("inspect", place.error().code, to_string(place.error()));
  if (is_goal_file(file)) return inspect_goal({file, json, traffic, ranks});
  auto trace = prism_trace_reader::open(file);
  if (!trace) return fail("inspect", trace.error(), json);
  if ((*trace)->is_cut())
    std::fprintf(stderr, "troupe inspect: warning: %s\n", (*trace)->cut_text().c_str());
  auto summary = summarize(**trace);
  if (!summary) return fail("inspect", summary.error(), json);
  if (!json.empty())
    if (auto written = write_json(json, to_json(**trace, *summary)); !written)
      return complain("inspect", written.error().code, written.error().context);
  if (json == "-") return 0;
  auto text = overview_text(**trace, *summary);
  if (traffic) text += traffic_text(*summary);
  if (ranks) text += ranks_text(*summary);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return complain("inspect", errc::no_resources, "cannot write to standard output");
  return 0;
}

}  // namespace troupe
