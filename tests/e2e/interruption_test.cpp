// interruption: the runner or a rank is stopped from outside, at any moment; nothing stays behind,
// what was recorded can be read.

#include <signal.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <random>

#include "tests/e2e/leftovers.hpp"
#include "tests/e2e/workspace.hpp"

namespace troupe::e2e {
namespace {

using Catch::Matchers::Contains;

// Long enough to be hit by every moment below, however fast the machine.
const std::vector<std::string> endless = {"sums.py", "1000000"};

run_options endless_run(std::uint32_t world) {
  return {.world = world, .program = {python(), test_program(endless[0]), endless[1]}};
}

void check_nothing_left(const workspace& here, const leftovers& left) {
  CHECK(left.found() == std::vector<std::string>{});
  CHECK(here.temporary_files() == std::vector<std::string>{});
}

/// A trace that was begun can be read; whether the moment came before its first byte is chance.
void check_trace_readable(const workspace& here) {
  std::error_code absent;
  if (std::filesystem::file_size(here.trace(), absent) == 0 || absent) return;
  const auto inspected = here.verb({"inspect", here.trace()});
  INFO(describe(inspected));
  CHECK(inspected.status == 0);
}

std::chrono::milliseconds random_moment(std::mt19937_64& chance) {
  return std::chrono::milliseconds(std::uniform_int_distribution<int>(0, 700)(chance));
}

void check_interrupted(int number, bool whole_group) {
  const workspace here;
  const leftovers left;
  command running(here.troupe_run(endless_run(4)), here.environment());
  REQUIRE(eventually([&] { return here.rank_pids(".summed").size() == 4; }, 300s));
  whole_group ? running.signal_group(number) : running.signal(number);
  const auto ended = running.wait();
  INFO(describe(ended));
  CHECK(ended.status == 130);
  CHECK(!ended.timed_out);
  REQUIRE(messages(ended).size() == 1);
  CHECK_THAT(messages(ended).front(), Contains("interrupted"));
  const auto report = here.report();
  REQUIRE(report);
  CHECK(report->at("outcome") == "interrupted");
  const auto trace = here.inspect(here.trace());
  REQUIRE(trace);
  CHECK(trace->at("nodes") > 0);
  check_nothing_left(here, left);
}

TEST_CASE("SIGINT to the runner ends the run with 130, cleaned up") {
  check_interrupted(SIGINT, false);
}

TEST_CASE("Ctrl-C, to the whole group of the terminal, ends the run with 130, cleaned up") {
  check_interrupted(SIGINT, true);
}

TEST_CASE("SIGTERM to the runner ends the run as Ctrl-C does") {
  check_interrupted(SIGTERM, false);
}

TEST_CASE("kill -9 of the runner at ten random moments leaves nothing behind") {
  std::mt19937_64 chance(20260101);
  for (int moment = 0; moment < 10; ++moment) {
    const workspace here;
    const leftovers left;
    const auto after =
        3 * random_moment(chance);  // from its first instruction: start-up is hit too
    INFO("moment " << moment << ", after " << after.count() << " ms");
    command running(here.troupe_run(endless_run(4)), here.environment());
    std::this_thread::sleep_for(after);
    running.signal(SIGKILL);
    const auto ended = running.wait();
    CHECK(ended.status == 128 + SIGKILL);
    check_nothing_left(here, left);
    check_trace_readable(here);
  }
}

TEST_CASE("kill -9 of a rank at ten random moments is a lost rank and leaves nothing behind") {
  std::mt19937_64 chance(20260102);
  for (int moment = 0; moment < 10; ++moment) {
    const workspace here;
    const leftovers left;
    const auto victim = std::uniform_int_distribution<int>(0, 3)(chance);
    const auto after = random_moment(chance);
    INFO("moment " << moment << ", rank " << victim << ", " << after.count()
                   << " ms after its start");
    command running(here.troupe_run(endless_run(4)), here.environment());
    REQUIRE(eventually([&] { return here.rank_pids().contains(victim); }, 300s));
    std::this_thread::sleep_for(after);
    REQUIRE(kill(here.rank_pids().at(victim), SIGKILL) == 0);
    const auto ended = running.wait();
    INFO(describe(ended));
    CHECK(ended.status == 4);
    CHECK(!ended.timed_out);
    REQUIRE(messages(ended).size() == 1);
    CHECK_THAT(messages(ended).front(), Contains("rank " + std::to_string(victim)));
    check_nothing_left(here, left);
    check_trace_readable(here);
  }
}

TEST_CASE("kill -9 of any process below the runner never leaves the runner hanging") {
  std::mt19937_64 chance(20260103);
  for (int moment = 0; moment < 5; ++moment) {
    const workspace here;
    const leftovers left;
    command running(here.troupe_run(endless_run(4)), here.environment());
    REQUIRE(eventually([&] { return here.rank_pids().size() == 4; }, 300s));
    std::this_thread::sleep_for(random_moment(chance));
    auto below = descendants();
    std::erase_if(below, [&](const process& each) { return each.pid == running.pid(); });
    REQUIRE(!below.empty());
    const auto& victim =
        below[std::uniform_int_distribution<std::size_t>(0, below.size() - 1)(chance)];
    INFO("moment " << moment << ", " << victim.command_line);
    kill(victim.pid, SIGKILL);
    const auto ended = running.wait();
    INFO(describe(ended));
    CHECK(!ended.timed_out);
    CHECK(ended.status != 0);
    check_nothing_left(here, left);
    check_trace_readable(here);
  }
}

TEST_CASE("two runs at once do not touch each other") {
  const workspace one, other;
  const leftovers left;
  command first(one.troupe_run({.program = {python(), test_program("sums.py"), "200"}}),
                one.environment());
  command second(
      other.troupe_run({.world = 6, .program = {python(), test_program("sums.py"), "200"}}),
      other.environment());
  const auto first_ended = first.wait(), second_ended = second.wait();
  INFO(describe(first_ended) << describe(second_ended));
  CHECK(first_ended.status == 0);
  CHECK(second_ended.status == 0);
  const auto four = one.inspect(one.trace()), six = other.inspect(other.trace());
  REQUIRE(four);
  REQUIRE(six);
  CHECK(four->at("world") == 4);
  CHECK(six->at("world") == 6);
  CHECK(four->at("operations").at("all_reduce").at("count") == 200 * 4);
  CHECK(six->at("operations").at("all_reduce").at("count") == 200 * 6);
  check_nothing_left(one, left);
  check_nothing_left(other, left);
}

}  // namespace
}  // namespace troupe::e2e
