// misfortune_test: what goes wrong is diagnosed within two seconds, told to whom it concerns, by
// name, and nothing is left running.
#include <catch2/catch.hpp>
#include <csignal>

#include "tests/sim/actors/scripted_job.hpp"
#include "tests/unit/actors/calls.hpp"

using namespace troupe;
using namespace troupe::sim;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

payload numbers(std::size_t count) { return bytes_of(std::vector<std::int64_t>(count, 1)); }

void check_ended(const job_outcome& outcome, errc expected, nanos within) {
  INFO(outcome.text());
  CHECK(outcome.code() == expected);
  CHECK(outcome.ended <= within);
  CHECK(outcome.actors_left == 0);
  REQUIRE(outcome.report);
  CHECK_FALSE(outcome.report->findings.empty());
}

/// All ranks call all_reduce of four i64 at "good.py:1", rank 2 something else at "bad.py:2".
std::vector<error> told_of(const collective_call& other, std::size_t other_count,
                           std::uint32_t slots) {
  std::vector<error> told(4);
  job_options options;
  options.world = 4;
  options.slots = slots;
  options.program = [&](scripted_rank& rank) -> script {
    const auto group = rank.open_world();
    co_await rank.compute(10ms);
    const bool odd = rank.me.value == 2;
    auto operation = odd ? rank.issue(group, other, numbers(other_count), "bad.py:2")
                         : rank.issue(group, calls::all_reduce(4), numbers(4), "good.py:1");
    auto got = co_await rank.wait(operation);
    told[rank.me.value] = got.why;
    co_await rank.exit(1);  // as an uncaught exception does
  };
  auto outcome = run(options);
  check_ended(outcome, errc::mismatch, 2s);
  CHECK(outcome.report->findings.size() == 1);  // not one for each rank
  CHECK_THAT(outcome.text(), Contains("rank 2") && Contains("bad.py:2"));
  return told;
}

}  // namespace

TEST_CASE("a mismatch is told to all its members, and to the user once") {
  const std::pair<collective_call, std::size_t> others[] = {
      {calls::all_reduce(5), 5},
      {calls::all_reduce(4, element_type::f64), 4},
      {calls::all_reduce(4, element_type::i64, reduction::max), 4},
      {calls::plain(operation::all_gather, 4), 4},
  };
  for (const auto& [other, count] : others)
    for (std::uint32_t slots : {1u, 2u, 4u}) {
      INFO(describe(other) << " on " << slots << " slots");
      for (const auto& why : told_of(other, count, slots)) {
        CHECK(why.code == errc::mismatch);
        CHECK_THAT(why.context, Contains("rank 2"));
      }
    }
}

TEST_CASE("a call that is impossible by itself is told to all, and does not harm the trace") {
  for (const auto& why : told_of(calls::plain(operation::broadcast, 4, -7), 0, 2)) {
    CHECK(why.code == errc::mismatch);
    CHECK_THAT(why.context, Contains("root -7"));
  }
}

TEST_CASE("a payload of the wrong size ends the run instead of leaving the others waiting") {
  job_options options;
  options.world = 3;
  options.program = [&](scripted_rank& rank) -> script {
    const auto group = rank.open_world();
    co_await rank.wait(
        rank.issue(group, calls::all_reduce(4), numbers(rank.me.value == 1 ? 3 : 4)));
  };
  auto outcome = run(options);
  check_ended(outcome, errc::bad_input, 2s);
  CHECK(outcome.report->findings.front().ranks == std::vector<rank_id>{{1}});
}

TEST_CASE("a rank that ends early while others wait is named") {
  for (std::uint32_t slots : {1u, 3u})
    for (nanos early : {nanos{0}, nanos{20ms}}) {
      INFO(slots << " slots, it ends after " << early.count() << " ns");
      std::vector<error> told(4);
      job_options options;
      options.world = 4;
      options.slots = slots;
      options.program = [&](scripted_rank& rank) -> script {
        const auto group = rank.open_world();
        co_await rank.wait(rank.issue(group, calls::all_reduce(4), numbers(4)));
        co_await rank.compute(early);
        if (rank.me.value == 3) co_return;
        co_await rank.compute(5ms);
        auto got = co_await rank.wait(rank.issue(group, calls::all_reduce(4), numbers(4)));
        told[rank.me.value] = got.why;
      };
      auto outcome = run(options);
      check_ended(outcome, errc::mismatch, 2s);
      CHECK_THAT(outcome.text(), Contains("rank 3 ended") && Contains("number 2"));
      CHECK(outcome.report->findings.front().ranks == std::vector<rank_id>{{3}});
      for (std::uint32_t rank = 0; rank < 3; ++rank) CHECK(told[rank].code == errc::mismatch);
    }
}

TEST_CASE("of two ranks that end early the one that lacks is found, though the other has joined") {
  job_options options;
  options.world = 4;
  options.slots = 1;
  options.program = [](scripted_rank& rank) -> script {
    const auto group = rank.open_world();
    if (rank.me.value == 2) co_return;
    if (rank.me.value == 1) {
      rank.issue(group, calls::barrier());
      co_return;
    }
    co_await rank.compute(50ms);
    co_await rank.wait(rank.issue(group, calls::barrier()));
  };
  auto outcome = run(options);
  check_ended(outcome, errc::mismatch, 2s);
  CHECK_THAT(outcome.text(), Contains("rank 2 ended"));
}

TEST_CASE("a killed rank is a lost rank, whenever it dies") {
  for (nanos at : {nanos{1ms}, nanos{15ms}, nanos{30ms}})
    for (std::uint32_t slots : {1u, 2u, 4u}) {
      INFO("at " << at.count() << " ns on " << slots << " slots");
      job_options options;
      options.world = 4;
      options.slots = slots;
      options.kills = {{at, {1}, SIGKILL}};
      options.program = [](scripted_rank& rank) -> script {
        const auto group = rank.open_world();
        for (int n = 0; n < 20; ++n) {
          co_await rank.compute(2ms);
          co_await rank.wait(rank.issue(group, calls::all_reduce(4), numbers(4)));
        }
      };
      auto outcome = run(options);
      check_ended(outcome, errc::lost_rank, at + 2s);
      CHECK_THAT(outcome.text(), Contains("rank 1 was killed from outside by signal 9"));
    }
}

TEST_CASE("a rank that exits with 3 is the program's failure, the others are ended") {
  job_options options;
  options.world = 4;
  options.slots = 2;
  options.program = [](scripted_rank& rank) -> script {
    const auto group = rank.open_world();
    co_await rank.compute(3ms);
    if (rank.me.value == 2) co_await rank.exit(3);
    co_await rank.wait(rank.issue(group, calls::barrier()));
  };
  auto outcome = run(options);
  check_ended(outcome, errc::program_failed, 2s);
  CHECK_THAT(outcome.text(), Contains("rank 2 exited with status 3"));
  CHECK(outcome.report->ranks.size() == 4);
}

TEST_CASE("ranks that ignore SIGTERM are killed") {
  job_options options;
  options.world = 3;
  options.slots = 3;
  options.ignores_terminate = true;
  options.program = [](scripted_rank& rank) -> script {
    rank.open_world();
    if (rank.me.value == 0) co_await rank.die(SIGSEGV);
    co_await rank.compute(1h);
  };
  auto outcome = run(options);
  check_ended(outcome, errc::program_failed, 3s);
  for (const auto& rank : outcome.report->ranks)
    CHECK(rank.wait_status == (rank.rank.value == 0 ? SIGSEGV : SIGKILL));
}

TEST_CASE("all blocked on a key that nobody sets is a deadlock, and says so") {
  for (std::uint32_t slots : {1u, 4u}) {
    job_options options;
    options.world = 4;
    options.slots = slots;
    options.program = [](scripted_rank& rank) -> script {
      co_await rank.compute(1ms);
      co_await rank.get("nobody/sets/me");
    };
    auto outcome = run(options);
    check_ended(outcome, errc::deadlock, 2s);
    CHECK_THAT(outcome.text(), Contains("nobody/sets/me") && Contains("rank 3"));
  }
}

TEST_CASE("two ranks that first send and then receive are a deadlock") {
  job_options options;
  options.program = [](scripted_rank& rank) -> script {
    const auto group = rank.open_world();
    const auto other = 1 - static_cast<std::int32_t>(rank.me.value);
    co_await rank.wait(rank.issue(group, calls::send(other, 1), numbers(1)));
    co_await rank.wait(rank.issue(group, calls::recv(other, 1)));
  };
  auto outcome = run(options);
  check_ended(outcome, errc::deadlock, 2s);
  CHECK_THAT(outcome.text(), Contains("rank 0 called send") && Contains("rank 1 called send"));
}

TEST_CASE("collectives of two communicators in opposite orders are a deadlock that names both") {
  job_options options;
  options.slots = 2;
  options.program = [](scripted_rank& rank) -> script {
    const auto a = rank.open_world(), b = rank.open_world();
    const bool first = rank.me.value == 0;
    co_await rank.wait(rank.issue(first ? a : b, calls::barrier()));
    co_await rank.wait(rank.issue(first ? b : a, calls::barrier()));
  };
  auto outcome = run(options);
  check_ended(outcome, errc::deadlock, 2s);
  REQUIRE(outcome.report->findings.front().operations.size() == 2);
}

TEST_CASE("a circle of two is a deadlock while others compute for an hour") {
  for (std::uint32_t slots : {1u, 3u}) {
    job_options options;
    options.world = 4;
    options.slots = slots;
    options.program = [](scripted_rank& rank) -> script {
      const auto world = rank.open_world();
      const std::vector<rank_id> pair{{1}, {2}};
      const bool in_pair = rank.me.value == 1 || rank.me.value == 2;
      const auto a = in_pair ? rank.open(pair) : world, b = in_pair ? rank.open(pair) : world;
      if (rank.me.value == 0) {
        co_await rank.sleep(1h);
      } else if (in_pair) {
        const bool first = rank.me.value == 1;
        co_await rank.wait(
            rank.issue(first ? a : b, calls::barrier(), {}, first ? "a.py:1" : "b.py:2"));
        co_await rank.wait(rank.issue(first ? b : a, calls::barrier()));
      }
      co_await rank.wait(rank.issue(world, calls::barrier()));
    };
    auto outcome = run(options);
    check_ended(outcome, errc::deadlock, 2s);
    const auto& found = outcome.report->findings.front();
    CHECK(found.cycle == std::vector<rank_id>{{1}, {2}});
    CHECK(found.ranks == std::vector<rank_id>{{1}, {2}});
    CHECK(found.call_sites == std::vector<std::string>{"a.py:1", "b.py:2"});
    CHECK_THAT(found.text, Contains("rank 1 called barrier")
                               && Contains("at a.py:1 and waits for rank 2")
                               && !Contains("rank 3"));
  }
}

TEST_CASE("sends and receives with crossed tags are a deadlock where tags count") {
  job_options options;
  options.slots = 2;
  options.program = [](scripted_rank& rank) -> script {
    const auto group = rank.open_world();
    auto call = rank.me.value == 0 ? calls::send(1, 1) : calls::recv(0, 1);
    call.tag = rank.me.value == 0 ? 1 : 2;
    const auto bytes = rank.me.value == 0 ? numbers(1) : payload{};
    co_await rank.wait(rank.issue(group, call, bytes));
  };
  auto outcome = run(options);
  check_ended(outcome, errc::deadlock, 2s);
  CHECK_THAT(outcome.text(), Contains("with tag 1") && Contains("with tag 2"));
}

TEST_CASE("a key that only a rank that has ended could have set is a deadlock") {
  job_options options;
  options.world = 3;
  options.program = [](scripted_rank& rank) -> script {
    rank.open_world();
    if (rank.me.value == 1) co_await rank.get("from 0 or 2");
  };
  auto outcome = run(options);
  check_ended(outcome, errc::deadlock, 3s);
  CHECK_THAT(outcome.text(), Contains("rank 1 asked for key from 0 or 2"));
  CHECK(outcome.report->findings.front().ranks == std::vector<rank_id>{{1}});
}

TEST_CASE("ranks are not accused while a thread of theirs could still act") {
  job_options options;
  options.have_helpers = {{1}};
  options.interrupt_at = 10min;
  options.program = [](scripted_rank& rank) -> script {
    const auto a = rank.open_world(), b = rank.open_world();
    const bool first = rank.me.value == 0;
    co_await rank.wait(rank.issue(first ? a : b, calls::barrier()));
  };
  auto outcome = run(options);
  CHECK(outcome.code() == errc::interrupted);
}

TEST_CASE("ranks that try again after a timeout are not accused while one of them runs") {
  std::uint32_t attempts = 0;
  job_options options;
  options.program = [&](scripted_rank& rank) -> script {
    const auto group = rank.open_world();
    if (rank.me.value == 1) {
      co_await rank.wait(rank.issue(group, calls::barrier()));
      co_return;
    }
    for (; attempts < 12; ++attempts) {
      auto got = co_await rank.wait_for("late", 400ms);
      CHECK(got.why.code == errc::timed_out);
      co_await rank.compute(200ms);
    }
    co_await rank.wait(rank.issue(group, calls::barrier()));
  };
  auto outcome = run(options);
  INFO(outcome.text());
  CHECK(outcome.code() == errc::none);
  CHECK(attempts == 12);
}

TEST_CASE("a rank that computes for long is never accused") {
  job_options options;
  options.world = 3;
  options.slots = 2;
  options.program = [](scripted_rank& rank) -> script {
    const auto group = rank.open_world();
    if (rank.me.value == 0) co_await rank.compute(30min);
    co_await rank.wait(rank.issue(group, calls::barrier()));
  };
  CHECK(run(options).code() == errc::none);
}

TEST_CASE("an interrupt ends the run and leaves nothing, even with ranks that ignore it") {
  for (bool stubborn : {false, true})
    for (nanos at : {nanos{1ns}, nanos{5ms}, nanos{1s}}) {
      job_options options;
      options.world = 8;
      options.slots = 2;
      options.ignores_terminate = stubborn;
      options.interrupt_at = at;
      options.program = [](scripted_rank& rank) -> script {
        const auto group = rank.open_world();
        for (;;) {
          co_await rank.compute(1ms);
          co_await rank.wait(rank.issue(group, calls::all_reduce(4), numbers(4)));
        }
      };
      auto outcome = run(options);
      check_ended(outcome, errc::interrupted, at + (stubborn ? 2s : 1s));
    }
}

TEST_CASE("used-up pools are told to the rank that asked, as no_resources") {
  error told;
  job_options options;
  options.world = 1;
  options.memory_bytes = 1 << 20;
  options.spill_bytes = 1 << 20;
  options.program = [&](scripted_rank& rank) -> script {
    for (int n = 0; n < 2; ++n) {
      auto leased = co_await rank.lease(1 << 20);
      CHECK(leased.why.code == errc::none);
      CHECK(leased.region.pool == static_cast<std::uint32_t>(n));
    }
    auto refused = co_await rank.lease(1);
    told = refused.why;
  };
  run(options);
  CHECK(told.code == errc::no_resources);
}
