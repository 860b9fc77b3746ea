// goal_oracle: the binaries of txt2bin for the inputs that lie beside this repository, by their
// digests.
#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "graph/goal/schedule_file.hpp"
#include "tests/unit/graph/goal_sample.hpp"

using namespace troupe;
using namespace troupe::goal;

namespace {

std::string sha256_of(const std::string& path) {
  auto* const from = ::popen(("sha256sum '" + path + "'").c_str(), "r");
  REQUIRE(from != nullptr);
  char digest[65] = {};
  const auto got = std::fread(digest, 1, 64, from);
  ::pclose(from);
  REQUIRE(got == 64);
  return digest;
}

}  // namespace

TEST_CASE("binaries are txt2bin's for every input of the oracle") {
  const std::string folder = TROUPE_ORACLE_FOLDER "/goal/";
  std::ifstream from(folder + "expected.json");
  if (!from) {
    std::cout << "SKIPPED: there is no " << folder << "expected.json\n";
    return;
  }
  const auto expected = nlohmann::json::parse(from);
  REQUIRE(expected.size() >= 70);
  temporary_folder here;
  for (const auto& [name, said] : expected.items()) {
    INFO(name);
    const auto schedule = read_schedule(folder + name + ".goal");
    INFO((schedule ? "" : schedule.error().context));
    REQUIRE(schedule);
    const auto bytes = sample::binary_of(*schedule);
    write_file(here.file("x"), bytes.data(), bytes.size());
    CHECK(sha256_of(here.file("x")) == said.at("bin_sha256").get<std::string>());
    std::uint64_t counts[4] = {};
    for (const auto& each : schedule->operations()) ++counts[static_cast<int>(each.kind)];
    CHECK(counts[1] == said.at("sends"));
    CHECK(counts[2] == said.at("recvs"));
    CHECK(counts[3] == said.at("calcs"));
    const auto again = sample::from_binary(bytes);
    REQUIRE(again);
    CHECK(equal(*again, *schedule));
  }
}
