// disk: the trace's disk fills up, or its file is damaged afterwards.

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/e2e/leftovers.hpp"
#include "tests/e2e/small_disk.hpp"
#include "tests/e2e/workspace.hpp"

namespace troupe::e2e {
namespace {

using Catch::Matchers::Contains;
namespace fs = std::filesystem;

void check_no_space(const outcome& ended, const std::string& file) {
  INFO(describe(ended));
  CHECK(ended.status == 6);
  CHECK(!ended.timed_out);
  REQUIRE(messages(ended).size() == 1);
  CHECK_THAT(messages(ended).front(), Contains(file) && Contains(std::strerror(ENOSPC)));
}

TEST_CASE("a full disk ends the run, is named, and what was written can be read") {
  const workspace here;
  const auto disk = small_disk::mounted(here.file("disk"), 512 << 10);
  if (!disk) {
    std::cout << "SKIPPED: no right to mount a small file system here (run as root)\n";
    return;
  }
  const leftovers left;
  const auto file = here.file("disk/trace.prism");
  // The trace of so many sums takes ten times what the disk has, and what is written at once (half
  // a second's) a quarter of it.
  const auto ended =
      here.run({.trace_file = file, .program = {python(), test_program("sums.py"), "100000"}});
  check_no_space(ended, "trace.prism");
  const auto report = here.report();
  REQUIRE(report);
  CHECK(report->at("outcome") == "no_resources");
  const auto trace = here.inspect(file);
  REQUIRE(trace);
  CHECK(trace->at("nodes") > 0);
  CHECK(left.found() == std::vector<std::string>{});
}

TEST_CASE("a disk that never had room ends the run at once") {
  const workspace here;
  const leftovers left;
  check_no_space(
      here.run({.trace_file = "/dev/full", .program = {python(), test_program("sums.py")}}),
      "/dev/full");
  CHECK(left.found() == std::vector<std::string>{});
}

TEST_CASE("whoever cannot print what was asked for says so and ends with status 6") {
  const workspace here;
  const std::vector<std::vector<std::string>> verbs{{"--version"},
                                                    {"--help"},
                                                    {"run", "--help"},
                                                    {"doctor"},
                                                    {"run", "--no-trace", "--", "echo", "x"}};
  for (const auto& arguments : verbs) {
    auto command = here.troupe(arguments);
    command.insert(command.begin(), {"sh", "-c", "exec \"$@\" > /dev/full", "sh"});
    const auto ended = e2e::run(command, here.environment());
    INFO(describe(ended));
    CHECK(ended.status == 6);
    CHECK_THAT(ended.err, Contains("standard output"));
  }
}

TEST_CASE("a trace in a folder that is not there is refused before the program starts") {
  const workspace here;
  const auto ended = here.run({.trace_file = here.file("nowhere/trace.prism"),
                               .program = {python(), test_program("sums.py")}});
  INFO(describe(ended));
  CHECK(ended.status != 0);
  CHECK(ended.out.empty());
  REQUIRE(messages(ended).size() == 1);
  CHECK_THAT(messages(ended).front(), Contains("nowhere/trace.prism"));
  CHECK(here.rank_pids().empty());
}

TEST_CASE(
    "a trace cut anywhere is read up to there or refused, and a flipped bit is never believed") {
  const workspace here;
  const auto ended = here.run({.program = {python(), test_program("sums.py"), "300"}});
  INFO(describe(ended));
  REQUIRE(ended.status == 0);
  std::ifstream whole(here.trace(), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(whole), {});
  const auto nodes = here.inspect(here.trace()).value().at("nodes").get<std::uint64_t>();
  const auto inspected = [&](const std::string& damaged) {
    std::ofstream(here.file("damaged.prism"), std::ios::binary) << damaged;
    return here.verb({"inspect", here.file("damaged.prism"), "--json", "-"});
  };
  for (int part = 1; part < 10; ++part) {
    const auto cut = inspected(bytes.substr(0, bytes.size() * part / 10));
    INFO("cut at " << part << "/10: " << describe(cut));
    CHECK((cut.status == 0 || cut.status == 3));
    if (cut.status == 0)
      CHECK(nlohmann::json::parse(cut.out).at("nodes").get<std::uint64_t>() <= nodes);
    auto flipped = bytes;
    flipped[bytes.size() * part / 10] ^= 0x10;
    const auto flip = inspected(flipped);
    INFO("bit flipped at " << part << "/10: " << describe(flip));
    CHECK((flip.status == 0 || flip.status == 3));
    if (flip.status == 0)
      CHECK(nlohmann::json::parse(flip.out).at("nodes").get<std::uint64_t>() <= nodes);
  }
}

}  // namespace
}  // namespace troupe::e2e
