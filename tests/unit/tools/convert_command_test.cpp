#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "graph/prism_trace_writer.hpp"
#include "tests/unit/graph/sample_graph.hpp"
#include "tests/unit/graph/temporary_folder.hpp"
#include "tools/commands.hpp"

using namespace troupe;
using nlohmann::json;

namespace {

/// The sample graph as a trace; some rank has many nodes if asked.
std::string make_trace(const temporary_folder& folder, std::uint32_t nodes = 0) {
  auto graph = sample::small_graph();
  std::mt19937_64 chance(1);
  if (nodes > 0) graph.ranks[0] = sample::training_nodes(nodes, chance);
  const auto path = folder.file("in.prism");
  auto writer = prism_trace_writer::create(
      path, {.world = graph.world, .stage = graph.stage, .metadata = graph.metadata});
  REQUIRE(writer);
  REQUIRE(sample::write(graph, **writer));
  REQUIRE((*writer)->close());
  return path;
}

struct outcome {
  int status{};
  std::string errors;
};

/// The verb in a process of its own; `prepare` runs there first.
outcome convert(const temporary_folder& folder, std::vector<std::string> arguments,
                void (*prepare)() = nullptr) {
  const auto errors = folder.file("errors");
  arguments.insert(arguments.begin(), "convert");
  const auto child = ::fork();
  if (child == 0) {
    if (!std::freopen(errors.c_str(), "w", stderr)) ::_exit(99);
    if (prepare) prepare();
    std::vector<char*> argv;
    for (auto& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const int status = convert_command(static_cast<int>(arguments.size()), argv.data());
    std::fflush(stderr);
    ::_exit(status);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  const auto text = bytes_of_file(errors);
  std::filesystem::remove(errors);
  return {WEXITSTATUS(status), {text.begin(), text.end()}};
}

json read_json(const std::string& path) {
  const auto bytes = bytes_of_file(path);
  return json::parse(bytes.begin(), bytes.end());
}

std::size_t files_in(const temporary_folder& folder) {
  const std::filesystem::directory_iterator all{
      std::filesystem::path{folder.file("x")}.parent_path()};
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace

TEST_CASE("a trace becomes what the name's ending says") {
  temporary_folder folder;
  const auto in = make_trace(folder);
  const auto kineto = folder.file("out.json"), report = folder.file("report");
  const auto done = convert(folder, {in, kineto, "--json", report});
  INFO(done.errors);
  REQUIRE(done.status == 0);
  CHECK(read_json(kineto)["distributedInfo"]["world_size"] == 4);
  const auto said = read_json(report);
  CHECK(said["outcome"] == "done");
  CHECK(said["findings"].empty());
  CHECK(said["format"] == "kineto");
  CHECK(said["ranks"] == json({0, 1, 2, 3}));
  CHECK(said["output_bytes"] == std::filesystem::file_size(kineto));
  for (const char* name : {"out.perfetto", "out.pftrace"}) {
    REQUIRE(convert(folder, {in, folder.file(name), "-q"}).errors.empty());
    CHECK(bytes_of_file(folder.file(name)).at(0) == 0x0a);  // Trace's field 1: a packet
  }
}

TEST_CASE("only the ranks asked for are written") {
  temporary_folder folder;
  const auto in = make_trace(folder), out = folder.file("out.json");
  REQUIRE(convert(folder, {in, out, "--ranks", "1,3"}).status == 0);
  std::set<int> ranks;
  const auto timeline = read_json(out);
  for (const auto& event : timeline["traceEvents"]) ranks.insert(event["pid"].get<int>());
  CHECK(ranks == std::set<int>{1, 3});
  CHECK(convert(folder, {in, out, "--ranks", "4"}).status == 2);
}

TEST_CASE("a call that cannot be meant is a usage error and writes nothing") {
  temporary_folder folder;
  const auto in = make_trace(folder);
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {in},
                                             {in, folder.file("out.svg")},
                                             {in, folder.file("json")},
                                             {in, in + ".json", "--frobnicate"}}) {
    const auto refused = convert(folder, arguments);
    CHECK(refused.status == 2);
    CHECK(std::count(refused.errors.begin(), refused.errors.end(), '\n') == 1);
  }
  const auto same = folder.file("same.json");
  std::filesystem::create_hard_link(in, same);
  CHECK(convert(folder, {in, same}).status == 2);
  CHECK(std::filesystem::file_size(same) == std::filesystem::file_size(in));
  const auto before = bytes_of_file(in);
  for (const auto& report : {in, folder.file("./in.prism"), same, folder.file("out.json")}) {
    const auto refused = convert(folder, {in, folder.file("out.json"), "--json", report});
    CHECK(refused.status == 2);
    CHECK(refused.errors.find("--json") != std::string::npos);
  }
  CHECK(bytes_of_file(in) == before);
  CHECK(files_in(folder) == 2);
}

TEST_CASE("what is no trace, or no place to write, is one clear error") {
  temporary_folder folder;
  const auto in = make_trace(folder), report = folder.file("report");
  const auto text = folder.file("text.prism");
  write_file(text, "hello", 5);
  const auto out = folder.file("out.json");
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{text, out},
                                                        {folder.file("missing"), out},
                                                        {folder.file(""), out},
                                                        {in, folder.file("no/folder/out.json")}}) {
    const auto refused = convert(folder, {from, to, "--json", report});
    CHECK(refused.status == 3);
    CHECK(std::count(refused.errors.begin(), refused.errors.end(), '\n') == 1);
    CHECK(read_json(report)["outcome"] == "bad_input");
    CHECK(read_json(report)["findings"][0]["kind"] == "bad_input");
  }
  CHECK_FALSE(std::filesystem::exists(out));
}

TEST_CASE("a cut trace is converted as far as it goes, and says so everywhere") {
  temporary_folder folder;
  const auto in = make_trace(folder, 5000), out = folder.file("out.json"),
             report = folder.file("report");
  std::filesystem::resize_file(in, std::filesystem::file_size(in) - 40);
  const auto done = convert(folder, {in, out, "--json", report});
  INFO(done.errors);
  REQUIRE(done.status == 0);
  CHECK(done.errors.find("warning: ") != std::string::npos);
  CHECK(read_json(report)["is_cut"] == true);
  CHECK(read_json(report)["findings"][0]["kind"] == "cut_input");
  CHECK(read_json(out)["troupe"]["metadata"].contains("incomplete"));
}

TEST_CASE("a disk that is full leaves what was there, and nothing beside it") {
  temporary_folder folder;
  const auto in = make_trace(folder, 20'000), out = folder.file("out.json");
  write_file(out, "{}", 2);
  const auto failed = convert(folder, {in, out}, [] {
    const rlimit most{100'000, 100'000};
    ::setrlimit(RLIMIT_FSIZE, &most);
  });
  INFO(failed.errors);
  CHECK(failed.status == 6);
  CHECK(bytes_of_file(out).size() == 2);
  CHECK(files_in(folder) == 2);
}
