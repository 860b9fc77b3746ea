// warnings_test: what may be wrong is said, and the run goes on.
#include <catch2/catch.hpp>

#include "tests/sim/actors/scripted_job.hpp"
#include "tests/unit/actors/calls.hpp"

using namespace troupe;
using namespace troupe::sim;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

payload numbers(std::size_t count) { return bytes_of(std::vector<std::int64_t>(count, 1)); }

}  // namespace

TEST_CASE("ranks that poll for each other's calls are warned of, not accused") {
  job_options options;
  options.interrupt_at = 10min;
  options.program = [](scripted_rank& rank) -> script {
    const auto a = rank.open_world(), b = rank.open_world();
    const auto mine = rank.issue(rank.me.value == 0 ? a : b, calls::barrier(), {}, "train.py:7");
    while (!co_await rank.test(mine)) co_await rank.sleep(100ms);
  };
  auto outcome = run(options);
  CHECK(outcome.code() == errc::interrupted);
  REQUIRE(outcome.report);
  const auto& warnings = outcome.report->warnings;
  REQUIRE(warnings.size() == 4);  // after 1, 2, 4 and 8 minutes
  CHECK(warnings.front().kind == errc::deadlock);
  CHECK(warnings.front().cycle == std::vector<rank_id>{{0}, {1}});
  CHECK_THAT(warnings.front().text, Contains("suspected deadlock") && Contains("for 60 s")
                                        && Contains("rank 0 called barrier")
                                        && Contains("and waits for rank 1")
                                        && Contains("at train.py:7"));
}

TEST_CASE("a thread that could act is given its time before its rank is warned of") {
  job_options options;
  options.have_helpers = {{1}};
  options.interrupt_at = 90s;
  options.program = [](scripted_rank& rank) -> script {
    const auto a = rank.open_world(), b = rank.open_world();
    co_await rank.wait(rank.issue(rank.me.value == 0 ? a : b, calls::barrier()));
  };
  auto outcome = run(options);
  CHECK(outcome.code() == errc::interrupted);
  REQUIRE(outcome.report);
  REQUIRE(outcome.report->warnings.size() == 1);
  CHECK_THAT(outcome.report->warnings.front().text, Contains("suspected deadlock"));
}

TEST_CASE("a run in which nothing is called for five minutes says who waits for whom") {
  job_options options;
  options.world = 3;
  options.slots = 2;
  options.program = [](scripted_rank& rank) -> script {
    const auto group = rank.open_world();
    if (rank.me.value == 1) co_await rank.compute(9min);
    co_await rank.wait(rank.issue(group, calls::barrier()));
  };
  auto outcome = run(options);
  CHECK(outcome.code() == errc::none);
  REQUIRE(outcome.report);
  REQUIRE(outcome.report->warnings.size() == 1);
  CHECK_THAT(outcome.report->warnings.front().text,
             Contains("no rank has called anything for 300 s") && Contains("rank 0 called barrier")
                 && Contains("and waits for rank 1, which calls nothing"));
}

TEST_CASE("slow ranks that get on are not warned of") {
  job_options options;
  options.world = 3;
  options.slots = 1;
  options.program = [](scripted_rank& rank) -> script {
    const auto group = rank.open_world();
    for (int turn = 0; turn < 5; ++turn) {
      co_await rank.compute(50s);
      co_await rank.wait(rank.issue(group, calls::barrier()));
    }
  };
  auto outcome = run(options);
  CHECK(outcome.code() == errc::none);
  REQUIRE(outcome.report);
  CHECK(outcome.report->warnings.empty());
}

TEST_CASE("calls of one signature that a rank swaps are warned of by place") {
  job_options options;
  options.world = 3;
  options.program = [](scripted_rank& rank) -> script {
    const auto group = rank.open_world();
    const bool odd = rank.me.value == 2;
    const std::string places[] = {odd ? "b.py:2" : "a.py:1", odd ? "a.py:1" : "b.py:2"};
    for (const auto& place : places)
      co_await rank.wait(rank.issue(group, calls::all_reduce(4), numbers(4), place));
  };
  auto outcome = run(options);
  CHECK(outcome.code() == errc::none);
  REQUIRE(outcome.report);
  REQUIRE(outcome.report->warnings.size() == 1);
  const auto& warning = outcome.report->warnings.front();
  CHECK(warning.kind == errc::mismatch);
  CHECK(warning.sequence == sequence_number{1});
  CHECK(warning.call_sites.size() == 2);
  CHECK_THAT(warning.text, Contains("a.py:1") && Contains("b.py:2") && Contains("swapped"));
}

TEST_CASE("unbatched messages under nccl are warned of once, and once more in a circle of pairs") {
  struct wanted {
    semantics rules;
    bool batched, in_ring;
    std::size_t warnings;
  };
  for (const auto& [rules, batched, in_ring, warnings] : {wanted{semantics::nccl, false, true, 2},
                                                          {semantics::nccl, false, false, 1},
                                                          {semantics::nccl, true, true, 0},
                                                          {semantics::gloo, false, true, 0}}) {
    job_options options;
    options.world = 4;
    options.slots = 2;
    options.program = [&](scripted_rank& rank) -> script {
      const auto group = rank.open_world(rules);
      const auto me = static_cast<std::int32_t>(rank.me.value);
      auto send = calls::send((me + 1) % 4, 1), recv = calls::recv((me + 3) % 4, 1);
      send.batched = recv.batched = batched;
      const bool turned = !in_ring && me % 2;
      const auto bytes = numbers(1);
      const auto first =
          turned ? rank.issue(group, recv) : rank.issue(group, send, bytes, "ring.py:3");
      const auto second =
          turned ? rank.issue(group, send, bytes, "ring.py:3") : rank.issue(group, recv);
      co_await rank.wait(first);
      co_await rank.wait(second);
    };
    auto outcome = run(options);
    CHECK(outcome.code() == errc::none);
    REQUIRE(outcome.report);
    const auto& found = outcome.report->warnings;
    REQUIRE(found.size() == warnings);
    for (const auto& each : found) CHECK(each.kind == errc::deadlock);
    if (warnings > 0)
      CHECK_THAT(found[0].text, Contains("outside of batch_isend_irecv") && Contains("ring.py:3"));
    if (warnings > 1) {
      CHECK(found[1].cycle.size() == 4);
      CHECK_THAT(found[1].text, Contains("suspected deadlock") && Contains("circle"));
    }
  }
}
