// slots: however few run at a time, the program cannot tell: same values to the bit, same structure
// of every rank.

#include <catch2/catch.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "tests/e2e/leftovers.hpp"
#include "tests/e2e/workspace.hpp"

namespace troupe::e2e {
namespace {

struct seen {
  std::string printed;
  nlohmann::json digest, digests;
};

seen run_with_slots(std::uint32_t slots, const std::vector<std::string>& program) {
  const workspace here;
  const leftovers left;
  const auto ended = e2e::run(here.troupe_run({.world = 16, .slots = slots, .program = program}),
                              here.environment(1200s));
  INFO(slots << " slots: " << describe(ended));
  REQUIRE(ended.status == 0);
  const auto report = here.report();
  REQUIRE(report);
  CHECK(report->at("outcome") == "done");
  CHECK(report->at("world") == 16);
  CHECK(report->at("slots") == slots);
  CHECK(report->at("ranks").size() == 16);
  CHECK(report->at("switches") >= report->at("switches_least"));
  const auto trace = here.inspect(here.trace());
  REQUIRE(trace);
  CHECK(left.found() == std::vector<std::string>{});
  return {ended.out, trace->at("digest"), trace->at("digests")};
}

// Lines of ranks come in any order; which lines there are may not depend on the slots.
std::multiset<std::string> lines(const std::string& printed) {
  std::multiset<std::string> found;
  std::istringstream stream(printed);
  for (std::string line; std::getline(stream, line);) found.insert(line);
  return found;
}

void check_slots_make_no_difference(const std::vector<std::string>& program,
                                    std::size_t lines_least) {
  const auto all = run_with_slots(16, program);
  CHECK(lines(all.printed).size() >= lines_least);
  CHECK(all.digests.size() == 16);
  for (const std::uint32_t slots : {4, 2, 1}) {
    const auto few = run_with_slots(slots, program);
    INFO(slots << " slots");
    CHECK(lines(few.printed) == lines(all.printed));
    CHECK(few.digest == all.digest);
    CHECK(few.digests == all.digests);
  }
}

TEST_CASE("16 ranks print the same sums on 16, 4, 2 and 1 slots, with the same digests") {
  check_slots_make_no_difference({python(), test_program("sums.py"), "50", "1000"}, 16);
}

TEST_CASE(
    "a 16-rank GPT has the same losses to the bit on 16, 4, 2 and 1 slots, with the same digests") {
  if (skipped_without_torch()) return;
  check_slots_make_no_difference({python(), DEMO_PROGRAM, "--steps", "5"}, 5);
}

TEST_CASE("a rank may use the cores that it could, whatever slot it had") {
  const workspace here;
  const leftovers left;
  const auto ended =
      here.run({.world = 6,
                .slots = std::thread::hardware_concurrency(),  // as many as cores: they are placed
                .program = {python(), test_program("cores.py")}});
  INFO(describe(ended));
  CHECK(ended.status == 0);
  CHECK(lines(ended.out).size() == 6);
  CHECK(left.found() == std::vector<std::string>{});
}

TEST_CASE("an initialisation is one meeting: each rank but the last waits once") {
  if (skipped_without_torch()) return;
  const workspace here;
  constexpr std::uint32_t world = 8, rounds = 3;
  const auto ended = here.run({.world = world,
                               .slots = 1,
                               .program = {python(), test_program("torch/entering.py"),
                                           here.file("entered"), std::to_string(rounds)}});
  INFO(describe(ended));
  REQUIRE(ended.status == 0);
  const auto report = here.report();
  REQUIRE(report);
  // Some more, should a rank have slept in a file's write.
  CHECK(report->at("switches") < world + rounds * (world - 1) + world / 2);
}

}  // namespace
}  // namespace troupe::e2e
