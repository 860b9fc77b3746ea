// doctor_command: `troupe doctor`: what works on this machine, and what to install for the rest.
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "actors/payload_pools.hpp"
#include "actors/rank_listener.hpp"
#include "tools/commands.hpp"
#include "tools/json_output.hpp"
#include "tools/library_folder.hpp"
#include "tools/subprocess.hpp"
#include "tools/torch_plugin.hpp"

namespace troupe {
namespace {

enum class verdict { works, absent, broken };

struct diagnosis {
  std::string what;
  verdict how{};
  std::string detail;
};

const char* to_string(verdict how) {
  switch (how) {
    case verdict::works:
      return "ok";
    case verdict::absent:
      return "absent";
    case verdict::broken:
      return "broken";
  }
  return "?";
}

diagnosis look_at_socket() {
  auto listener = rank_listener::open(1);
  if (!listener) return {"ranks' socket", verdict::broken, listener.error().context};
  return {"ranks' socket", verdict::works, "abstract Unix sockets"};
}

diagnosis look_at_pools() {
  const char* temporary = std::getenv("TMPDIR");
  const std::string folder = temporary && *temporary ? temporary : "/tmp";
  auto pools = payload_pools::open({1, MiB, MiB, folder});
  if (!pools) return {"payload pools", verdict::broken, pools.error().context};
  struct statvfs disk {};
  ::statvfs(folder.c_str(), &disk);
  return {"payload pools", verdict::works,
          fmt::format("memfd; {} has {} MiB for the spill file", folder,
                      static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize / MiB)};
}

diagnosis look_at_libraries() {
  auto folder = library_folder();
  if (!folder) return {"rank libraries", verdict::broken, folder.error().context};
  return {"rank libraries", verdict::works, *folder};
}

diagnosis look_at_torch(const std::string& python) {
  const auto name = "torch of " + python;
  auto folder = library_folder();
  if (!folder) return {name, verdict::broken, "no rank libraries"};
  auto facts = ask_interpreter(python, *folder);
  if (!facts) return {name, verdict::broken, facts.error().context};
  if (facts->version.empty())
    return {name, verdict::absent, facts->missing + " (Debian: apt install python3-torch)"};
  const auto torch = "torch " + facts->version;
  if (facts->module.empty())
    return {name, verdict::broken,
            facts->missing.empty() ? torch + ": " + facts->why_no_module : facts->missing};
  if (auto loaded = try_module(*facts, *folder, facts->module); !loaded)
    return {name, verdict::broken, torch + ": " + loaded.error().context};
  return {name, verdict::works, torch + " with the c10d backend " + facts->module};
}

diagnosis look_at_cuda() {
  auto asked = run_to_end({"nvidia-smi", "--query-gpu=name", "--format=csv,noheader"});
  if (asked && asked->status == 0 && !asked->output.empty())
    return {"GPU", verdict::works,
            asked->output.substr(0, asked->output.find_last_not_of('\n') + 1)};
  return {"GPU", verdict::absent, "none is needed: ranks run on the cores"};
}

}  // namespace

int doctor_command(int argc, char** argv) {
  CLI::App app{"Says what works on this machine, and what to install for the rest.",
               "troupe doctor"};
  std::string json, python = "/usr/bin/python3";
  app.add_option("--json", json, "write the diagnoses as JSON to FILE (-: standard output)")
      ->type_name("FILE");
  app.add_option("--python", python, "the interpreter whose torch is looked at")
      ->capture_default_str();
  app.footer("Exit status: 0 all that `troupe run` needs works, 1 something is broken.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& wrong) {
    if (wrong.get_exit_code() == 0) return app.exit(wrong);
    std::fprintf(stderr, "troupe doctor: %s (troupe doctor --help)\n", wrong.what());
    return exit_status(errc::usage);
  }
  std::vector<diagnosis> all{
      {"cores", verdict::works, std::to_string(std::thread::hardware_concurrency())},
      look_at_socket(),
      look_at_pools(),
      look_at_libraries(),
      look_at_torch(python),
      look_at_cuda()};
  bool broken = false;
  nlohmann::ordered_json object{{"outcome", "done"},
                                {"diagnoses", nlohmann::ordered_json::array()}};
  for (const auto& each : all) {
    broken |= each.how == verdict::broken;
    object["diagnoses"].push_back(
        {{"what", each.what}, {"verdict", to_string(each.how)}, {"detail", each.detail}});
    if (json != "-")
      std::printf("%-26s %-7s %s\n", each.what.c_str(), to_string(each.how), each.detail.c_str());
  }
  if (broken) object["outcome"] = "no_resources";
  if (auto written = write_json(json, object); !written) {
    std::fprintf(stderr, "troupe doctor: %s\n", written.error().context.c_str());
    return exit_status(written.error().code);
  }
  return broken ? 1 : 0;
}

}  // namespace troupe
