// torch_plugin_command: `troupe torch-plugin`: builds the c10d backend against the torch of an
// interpreter, unless it is there.
//
// Not here: how (torch_plugin.hpp).
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/commands.hpp"
#include "tools/json_output.hpp"
#include "tools/library_folder.hpp"
#include "tools/torch_plugin.hpp"

namespace troupe {
namespace {

struct plugin_account {
  torch_facts facts;
  std::string folder;
  bool built{};
};

void say(const std::string& sentence) {
  std::fprintf(stderr, "troupe torch-plugin: %s\n", sentence.c_str());
}

/// One that is there and can be loaded is left alone.
result<plugin_account> provide(const std::string& python) {
  TROUPE_TRY(libraries, library_folder());
  TROUPE_TRY(facts, ask_interpreter(python, libraries));
  if (!facts.module.empty()) {
    auto loaded = try_module(facts, libraries, facts.module);
    if (loaded)
      return plugin_account{facts, std::filesystem::path(facts.module).parent_path(), false};
    say(loaded.error().context);
  }
  TROUPE_TRY(folder, build_torch_plugin(facts, libraries, say));
  return plugin_account{facts, folder, true};
}

}  // namespace

int torch_plugin_command(int argc, char** argv) {
  CLI::App app{
      "Builds the c10d backend against the torch of an interpreter, into your cache "
      "($XDG_CACHE_HOME/troupe, or ~/.cache/troupe), unless it is there.",
      "troupe torch-plugin"};
  std::string json, python = "python3";
  app.add_option("--python", python, "the interpreter whose torch it is for")
      ->capture_default_str();
  app.add_option("--json", json, "write what was done as JSON to FILE (-: standard output)")
      ->type_name("FILE");
  app.footer(
      "Needs a C++20 compiler (c++, or what CXX names) and the interpreter's headers; torch is "
      "1.13, "
      "or 2.4 and newer.\n"
      "Exit status: 0 done, 3 no such interpreter or no torch it could be built for, 6 no compiler "
      "or no room,\n"
      "70 a bug of troupe: the backend does not build or load.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& wrong) {
    if (wrong.get_exit_code() == 0) return app.exit(wrong);
    say(std::string{wrong.what()} + " (troupe torch-plugin --help)");
    return exit_status(errc::usage);
  }
  const auto start = std::chrono::steady_clock::now();
  const auto done = provide(python);
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - start;
  nlohmann::ordered_json object{{"outcome", done ? "done" : to_string(done.error().code)},
                                {"findings", nlohmann::ordered_json::array()},
                                {"python", python}};
  if (done) {
    object["torch"] = done->facts.version;
    object["folder"] = done->folder;
    object["built"] = done->built;
    say(fmt::format("torch {} of {} has its backend: {}{}", done->facts.version, python,
                    done->folder, done->built ? "" : " (it was there)"));
  } else {
    object["findings"].push_back(
        {{"kind", to_string(done.error().code)}, {"text", done.error().context}});
    say(done.error().context);
  }
  object["wall_ns"] = took.count();
  if (auto written = write_json(json, object); !written) {
    say(written.error().context);
    return exit_status(written.error().code);
  }
  return done ? 0 : exit_status(done.error().code);
}

}  // namespace troupe
