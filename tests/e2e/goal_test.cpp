// goal: GOAL schedules through the verbs: simulate, convert, inspect; and what each says of bad
// ones.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

#include "tests/e2e/workspace.hpp"

namespace troupe::e2e {
namespace {

using Catch::Matchers::Contains;
using nlohmann::json;

const std::string ping =
    "num_ranks 2\nrank 0 {\na: send 8b to 1 tag 1\nb: recv 8b from 1 tag 2\nb requires a\n}\n"
    "rank 1 {\na: recv 8b from 0 tag 1\nb: send 8b to 0 tag 2\nb requires a\n}\n";

std::string put(const workspace& here, const std::string& name, const std::string& text) {
  std::ofstream(here.file(name), std::ios::binary) << text;
  return here.file(name);
}

std::string bytes_of(const std::string& path) {
  std::ifstream from(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(from), {}};
}

json simulated(const workspace& here, std::vector<std::string> arguments, int status = 0) {
  arguments.insert(arguments.begin(), "simulate");
  arguments.insert(arguments.end(), {"--json", "-"});
  const auto ended = here.verb(arguments);
  INFO(describe(ended));
  CHECK(ended.status == status);
  const auto report = json::parse(ended.out, nullptr, false);
  REQUIRE(report.is_object());
  return report;
}

TEST_CASE("a schedule's simulation has DESIGN's keys and the model's numbers") {
  const workspace here;
  const auto file = put(here, "ping.goal", ping);
  const auto report = simulated(here, {file});
  for (const auto* key : {"outcome", "findings", "warnings", "finish_ns", "hosts_ns", "operations",
                          "matched", "net", "wall_ns", "cpu_ns"})
    CHECK(report.contains(key));
  CHECK(report.at("outcome") == "done");
  CHECK(report.at("finish_ns") == 13084);
  CHECK(report.at("hosts_ns") == json({13084, 8042}));
  CHECK(report.at("operations") == 4);
  CHECK(report.at("matched") == 2);
  CHECK(report.at("net").at("model") == "loggops");
  CHECK(report.at("net").at("L") == 2500);
  CHECK(report.at("net").at("receiver") == "atlahs");
  const auto text = here.verb({"simulate", file});
  CHECK_THAT(text.out, Contains("finish  13084 ns") && Contains("host 1      8042 ns")
                           && Contains("receiver atlahs"));
}

TEST_CASE("parameters have letters, names, presets and YAML, the nearest to the schedule wins") {
  const workspace here;
  const auto file = put(here, "ping.goal", ping);
  const auto net = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), file);
    return simulated(here, arguments).at("net");
  };
  const auto short_names =
      net({"-L", "1", "-o", "2", "-g", "3", "-G", "0.5", "-O", "0.25", "-S", "6"});
  const auto long_names = net({"--latency", "1", "--overhead", "2", "--gap", "3", "--gap-per-byte",
                               "0.5", "--overhead-per-byte", "0.25", "--eager-limit", "6"});
  CHECK(short_names == long_names);
  CHECK((short_names.at("L") == 1 && short_names.at("o") == 2 && short_names.at("g") == 3));
  CHECK((short_names.at("G") == 0.5 && short_names.at("O") == 0.25 && short_names.at("S") == 6));
  CHECK(net({"--preset", "atlahs-ai"}).at("L") == 3700);
  CHECK(net({"--preset", "atlahs-hpc"}).at("o") == 8000);
  CHECK(net({"--preset", "atlahs-hpc-paper"}).at("o") == 6000);
  const auto yaml =
      put(here, "a.yaml", "preset: atlahs-ai\nL: 7\ngap: 9   # ns\nreceiver: bandwidth\n");
  const auto of_file = net({"--network", yaml, "--preset", "atlahs-hpc", "-g", "11"});
  CHECK((of_file.at("L") == 7 && of_file.at("g") == 11 && of_file.at("o") == 200));
  CHECK(of_file.at("receiver") == "bandwidth");
}

TEST_CASE("parameters that make no sense are refused by name") {
  const workspace here;
  const auto file = put(here, "ping.goal", ping);
  const auto refused = [&](std::vector<std::string> arguments, int status, const char* said) {
    arguments.insert(arguments.begin(), {"simulate", file});
    const auto ended = here.verb(arguments);
    INFO(describe(ended));
    CHECK(ended.status == status);
    CHECK(ended.out.empty());
    REQUIRE(messages(ended).size() == 1);
    CHECK_THAT(messages(ended).front(), Contains(said));
  };
  refused({"-L", "-5"}, 2, "--latency");
  refused({"-G", "much"}, 2, "--gap-per-byte");
  refused({"-G", "nan"}, 2, "--gap-per-byte");
  refused({"-o", "1.5"}, 2, "--overhead");
  refused({"--receiver", "kind"}, 2, "atlahs, loggopsim or bandwidth");
  refused({"--matching", "any"}, 2, "requeue or mpi");
  refused({"--preset", "fast"}, 2, "atlahs-ai");
  refused({"--net", "packet"}, 2, "loggops");
  refused({"--network", here.file("absent.yaml")}, 3, "absent.yaml");
  refused({"--network", put(here, "b.yaml", "L: 1\nlatancy: 2\n")}, 3,
          "b.yaml:2:1: there is no parameter");
  refused({"--network", put(here, "c.yaml", "L: [1, 2]\n")}, 3,
          "c.yaml:1:4: L: expected one value");
  refused({"--network", put(here, "d.yaml", "L: {\n")}, 3, "d.yaml:");
  refused({"--network", put(here, "e.yaml", "L: 1\nL: 2\n")}, 3, "L is there already");
  refused({"--network", put(here, "two.yaml", "L: 1\n---\ng: 2\n")}, 3,
          "two.yaml:3:1: expected one");
  refused({"--network", put(here, "f.yaml", "preset: fast\n")}, 3, "there is no preset fast");
}

TEST_CASE("schedules that do not end are status 4, with who waits for whom") {
  const workspace here;
  const auto circle = put(here, "a.goal",
                          "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 2\na requires b\nb "
                          "requires a\n}\n");
  const auto stuck = simulated(here, {circle}, 4);
  CHECK(stuck.at("outcome") == "deadlock");
  CHECK(stuck.at("findings").at(0).at("cycle").size() == 2);
  CHECK(stuck.at("findings").at(0).at("ranks") == json({0}));
  const auto unmatched = simulated(
      here, {put(here, "b.goal", "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\n}\n")}, 4);
  CHECK(unmatched.at("outcome") == "mismatch");
  CHECK_THAT(unmatched.at("findings").at(0).at("text").get<std::string>(),
             Contains("1 message(s) that no recv takes"));
  CHECK(unmatched.at("matched") == 0);
}

TEST_CASE("each error of a text is a line with its place, and a finding") {
  const workspace here;
  const auto file = put(here, "bad.goal", "num_ranks 1\nrank 0 {\ncalc x\nsend 8 to 0\n}\n");
  for (const std::string verb : {"simulate", "inspect", "convert"}) {
    std::vector<std::string> arguments{verb, file};
    if (verb == "convert") arguments.push_back(here.file("bad.bin"));
    const auto report = here.file(verb + ".json");
    arguments.insert(arguments.end(), {"--json", report});
    const auto ended = here.verb(arguments);
    INFO(describe(ended));
    CHECK(ended.status == 3);
    REQUIRE(messages(ended).size() == 2);
    CHECK_THAT(messages(ended)[0], Contains("bad.goal:3:6: expected a number of ns, found 'x'"));
    CHECK_THAT(messages(ended)[1], Contains("bad.goal:4:8: expected 'b'"));
    const auto found = json::parse(bytes_of(report));
    CHECK(found.at("outcome") == "bad_input");
    CHECK(found.at("findings").size() == 2);
    CHECK_FALSE(std::filesystem::exists(here.file("bad.bin")));
  }
}

TEST_CASE("text becomes binary and text again, and each simulates the same") {
  const workspace here;
  const auto file = put(here, "ping.goal", ping);
  const auto convert = [&](const std::string& from, const std::string& to, const char* format) {
    const auto ended = here.verb({"convert", from, to, "--json", "-"});
    INFO(describe(ended));
    REQUIRE(ended.status == 0);
    const auto report = json::parse(ended.out);
    CHECK(report.at("format") == format);
    CHECK(report.at("output_bytes") == std::filesystem::file_size(to));
  };
  convert(file, here.file("ping.bin"), "goal_binary");
  convert(here.file("ping.bin"), here.file("again.goal"), "goal");
  convert(here.file("again.goal"), here.file("again.bin"), "goal_binary");
  CHECK(bytes_of(here.file("ping.bin")) == bytes_of(here.file("again.bin")));
  for (const auto* name : {"ping.bin", "again.goal"})
    CHECK(simulated(here, {here.file(name)}).at("hosts_ns") == json({13084, 8042}));
  convert(put(here, "w.goal", "num_ranks 1\nrank 0 {\ncalc 5 cpu 256\n}\n"), here.file("w.bin"),
          "goal_binary_wide");
  CHECK(simulated(here, {here.file("w.bin")}).at("finish_ns") == 5);
  const auto refused = here.verb({"convert", file, here.file("x.perfetto")});
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, Contains("becomes .goal, .bin or .prism"));
  CHECK(here.verb({"convert", file, here.file("x.bin"), "--ranks", "0"}).status == 2);
}

TEST_CASE("a generated pattern simulates, as text and as binary") {
  const workspace here;
  for (const auto* ending : {".goal", ".bin"}) {
    const auto file = here.file(std::string("ring") + ending);
    const auto ended = here.verb({"generate", "ring-all-reduce", "--ranks", "6", "--size", "600",
                                  "--steps", "2", "-o", file, "--json", "-"});
    INFO(describe(ended));
    REQUIRE(ended.status == 0);
    CHECK(json::parse(ended.out).at("operations") == 6 * 2 * 2 * 10);
    const auto report = simulated(here, {file});
    CHECK(report.at("matched") == 6 * 2 * 10);
  }
  const auto refused = [&](std::vector<std::string> arguments, const char* said) {
    arguments.insert(arguments.begin(), "generate");
    const auto ended = here.verb(arguments);
    INFO(describe(ended));
    CHECK(ended.status == 2);
    CHECK_THAT(ended.err, Contains(said));
  };
  refused({"star", "-o", here.file("x.goal")}, "there is no pattern star");
  refused({"ring", "-o", here.file("x.txt")}, "x.txt");
  refused({"ring", "--ranks", "0", "-o", here.file("x.goal")}, "--ranks");
  refused({"ring", "--chunk", "8", "-o", here.file("x.goal")}, "of collectives");
  refused({"nccl-reduce", "--gpus-per-node", "0", "-o", here.file("x.goal")}, "--gpus-per-node");
  refused({"all-gather", "--inside-bandwidth", "-1", "-o", here.file("x.goal")},
          "--inside-bandwidth");
  refused({"all-gather", "--inside-latency", "x", "-o", here.file("x.goal")}, "--inside-latency");
  refused({"ring"}, "--output");
  CHECK(here.verb({"generate", "ring", "-o", "/absent/x.goal"}).status == 3);
}

TEST_CASE("a capture simulates, and says what its collectives take") {
  const workspace here;
  const auto ran = here.run(
      {.world = 16, .slots = 4, .program = {python(), test_program("sums.py"), "5", "1000"}});
  INFO(describe(ran));
  REQUIRE(ran.status == 0);
  const auto report =
      simulated(here, {here.trace(), "--preset", "atlahs-ai", "--algorithm", "ring"});
  CHECK(report.at("outcome") == "done");
  CHECK(report.at("world") == 16);
  CHECK(report.at("ended") == report.at("operations"));
  std::uint64_t counted = 0;
  for (const auto& each : report.at("collectives")) {
    counted += each.at("count").get<std::uint64_t>();
    CHECK(each.at("operation") == "all_reduce");
    CHECK(each.at("members") == 16);
    CHECK(each.at("least_ns") <= each.at("mean_ns"));
    CHECK(each.at("most_ns") > 30 * (3700 + 200 + 5 + 200));  // as many rounds
  }
  const auto inspected = here.inspect(here.trace());
  REQUIRE(inspected);
  CHECK(counted * 16 == inspected->at("operations").at("all_reduce").at("count"));
  CHECK(report.at("ranks").size() == 16);

  REQUIRE(here.verb({"convert", here.trace(), here.file("a.bin"), "--algorithm", "ring"}).status
          == 0);
  CHECK(simulated(here, {here.file("a.bin"), "--preset", "atlahs-ai"}).at("hosts_ns")
        == report.at("hosts_ns"));

  const auto nodes =
      simulated(here, {here.trace(), "--preset", "atlahs-ai", "--gpus-per-node", "8"});
  CHECK(nodes.at("world") == 2);
  CHECK(nodes.at("ranks").size() == 16);
  CHECK(nodes.at("matched") < report.at("matched"));
}

TEST_CASE("a simulation's timeline is there in each form, whatever was simulated") {
  const workspace here;
  const auto ran =
      here.run({.world = 3, .program = {python(), test_program("sums.py"), "5", "1000"}});
  REQUIRE(ran.status == 0);
  const auto goal = put(here, "ping.goal", ping);
  for (const auto& file : {here.trace(), goal})
    for (const auto* ending : {"json", "perfetto", "prism"}) {
      const auto out = here.file(std::string("timeline.") + ending);
      const auto report = simulated(here, {file, "--timeline", out});
      INFO(file << " as " << ending);
      REQUIRE(std::filesystem::exists(out));
      if (ending == std::string("json")) {
        const auto timeline = json::parse(bytes_of(out), nullptr, false);
        REQUIRE(timeline.is_object());
        double last_us = 0;
        for (const auto& event : timeline.at("traceEvents"))
          if (event.value("ph", "") == "X")
            last_us =
                std::max(last_us, event.at("ts").get<double>() + event.at("dur").get<double>());
        CHECK(last_us == Approx(report.at("finish_ns").get<double>() / 1000));
      }
      if (ending == std::string("prism")) {
        const auto inspected = here.inspect(out);
        REQUIRE(inspected);
        CHECK(inspected->at("stage") == "calibrated");
      }
      std::filesystem::remove(out);
    }
  // what is simulated is not written over, and a place that is none is said before
  const auto own = put(here, "own.prism", bytes_of(here.trace()));
  CHECK(here.verb({"simulate", own, "--timeline", own}).status == 2);
  CHECK(bytes_of(own) == bytes_of(here.trace()));
  CHECK(here.verb({"simulate", own, "--timeline", here.file("none/a.json")}).status == 3);
  CHECK(here.verb({"simulate", own, "--inside-latency", "5"}).status == 2);
  // of what does not end there is none
  const auto stuck = put(here, "stuck.goal", "num_ranks 1\nrank 0 {\nrecv 8b from 0\n}\n");
  simulated(here, {stuck, "--timeline", here.file("no.json")}, 4);
  CHECK_FALSE(std::filesystem::exists(here.file("no.json")));
}

TEST_CASE("what is asked of the wrong kind of input is refused") {
  const workspace here;
  const auto goal = put(here, "ping.goal", ping);
  CHECK_THAT(here.verb({"simulate", goal, "--algorithm", "ring"}).err, Contains("no collectives"));
  CHECK(here.verb({"simulate", goal, "--gpus-per-node", "2"}).status == 2);
  const auto absent = here.verb({"simulate", here.file("absent"), "--gpus-per-node", "2"});
  CHECK(absent.status == 3);
  CHECK_THAT(absent.err, Contains("cannot read"));
  CHECK(here.verb({"simulate", goal, "--timeline", here.file("a.png")}).status == 2);
  CHECK(here.verb({"convert", goal, here.file("a.perfetto")}).status == 2);
  REQUIRE(here.verb({"convert", goal, here.file("a.prism")}).status == 0);
  const auto wrong = here.verb({"simulate", here.file("a.prism"), "--algorithm", "fastest"});
  CHECK(wrong.status == 2);
  CHECK_THAT(wrong.err, Contains("halving-doubling"));
  CHECK(here.verb({"convert", here.file("a.prism"), here.file("b.json"), "--algorithm", "ring"})
            .status
        == 2);
  CHECK(here.verb({"convert", here.file("a.prism"), here.file("b.prism")}).status == 2);
  CHECK(simulated(here, {here.file("a.prism")}).at("finish_ns") == 13084);
}

TEST_CASE("a generated NCCL collective heeds NCCL's variables") {
  const workspace here;
  const auto generated = [&](const char* protocol, std::vector<std::string> arguments) {
    auto options = here.environment();
    options.environment["NCCL_PROTO"] = protocol;
    arguments.insert(arguments.begin(), "generate");
    arguments.insert(arguments.end(), {"-o", here.file("nccl.bin")});
    return run(here.troupe(std::move(arguments)), options);
  };
  const auto bytes_by = [&](const char* protocol) {
    const auto ended = generated(protocol, {"nccl-reduce", "--ranks", "4", "--size", "19200"});
    INFO(describe(ended));
    REQUIRE(ended.status == 0);
    const auto found = here.inspect(here.file("nccl.bin")).value();
    return found.at("operations").at("send").at("bytes").get<std::uint64_t>();
  };
  CHECK(bytes_by("Simple") == 3 * 19200);
  CHECK(bytes_by("LL") == 3 * 38400);
  CHECK(bytes_by("LL128") == 3 * 20480);
  const auto refused = generated("LL256", {"nccl-reduce"});
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, Contains("NCCL_PROTO: there is no LL256"));
  CHECK(generated("LL256", {"ring"}).status == 0);
}

TEST_CASE("inspect counts what a schedule has") {
  const workspace here;
  const auto found = here.inspect(put(here, "ping.goal", ping)).value();
  CHECK((found.at("world") == 2 && found.at("nodes") == 4 && found.at("edges") == 2));
  CHECK(found.at("operations").at("send").at("count") == 2);
  CHECK(found.at("operations").at("recv").at("bytes") == 16);
  CHECK(found.at("traffic") == json::parse("[[0,1,8],[1,0,8]]"));
  const auto text = here.verb({"inspect", here.file("ping.goal"), "--traffic", "--ranks"});
  CHECK_THAT(text.out, Contains("GOAL schedule of 2 ranks, 4 operations") && Contains("0 -> 1")
                           && Contains("rank 1: 1 sends"));
}

// What a message says is the unit tests' business; here: no crash, no silence, the right status.
TEST_CASE("every bad input of the oracle is one error or finding, or means something") {
  const std::string folder = TEST_ORACLE "/bad";
  if (!std::filesystem::exists(folder)) {
    std::cout << "SKIPPED: there is no " << folder << "\n";
    return;
  }
  const workspace here;
  const std::set<std::string> sound = {"b23", "b24", "b31", "b34", "b36", "b40"};
  const std::set<std::string> never_end = {"b01", "b02", "b03", "b04", "b05", "b06"};
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto name = entry.path().filename().string().substr(0, 3);
    const auto ended = here.verb({"simulate", entry.path().string(), "--quiet"});
    INFO(entry.path() << describe(ended));
    CHECK(ended.status == (sound.contains(name) ? 0 : never_end.contains(name) ? 4 : 3));
    CHECK(messages(ended).empty() == sound.contains(name));
    ++seen;
  }
  CHECK(seen >= 30);
}

}  // namespace
}  // namespace troupe::e2e
