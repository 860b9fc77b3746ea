// slots_test: who polls or sleeps lets others run, said or not, and comes back.
#include <catch2/catch.hpp>

#include "tests/sim/actors/scripted_job.hpp"
#include "tests/unit/actors/calls.hpp"

using namespace troupe;
using namespace troupe::sim;
using namespace std::chrono_literals;

namespace {

void check_done(const job_outcome& outcome, const job_options& options) {
  INFO(outcome.text());
  CHECK(outcome.code() == errc::none);
  CHECK(outcome.running_max <= options.slots);
  CHECK(outcome.actors_left == 0);
}

/// Rank 0 sleeps a second, the others have three seconds of work together.
job_options with_sleeper(bool says_so, std::uint32_t slots) {
  job_options options;
  options.world = 4;
  options.slots = slots;
  options.program = [says_so](scripted_rank& rank) -> script {
    const auto group = rank.open_world();
    if (rank.me.value > 0)
      co_await rank.compute(1s);
    else if (says_so)
      co_await rank.sleep(1s);
    else
      co_await rank.doze(1s);
    co_await rank.wait(rank.issue(group, calls::barrier()));
  };
  return options;
}

}  // namespace

TEST_CASE("a program's timeout does not run while ranks have not had their turn") {
  job_options options;
  options.world = 64;
  std::uint32_t early = 0;
  options.program = [&](scripted_rank& rank) -> script {
    const auto world = rank.open_world();
    if (rank.me.value + 1 < rank.world) {
      co_await rank.compute(100ms);
      const auto got = co_await rank.wait_for("from the last", 3s);
      early += got.why.code != errc::none;
    } else {
      co_await rank.compute(1s);
      co_await rank.set("from the last", "x");
    }
    co_await rank.wait(rank.issue(world, calls::barrier()));
  };
  const auto outcome = run(options);
  CHECK(outcome.code() == errc::none);
  CHECK(early == 0);
  CHECK(outcome.ended > 6s);
}

TEST_CASE("a program's timeout comes although others poll all the time") {
  job_options options;
  options.world = 3;
  bool timed_out = false;
  options.program = [&](scripted_rank& rank) -> script {
    const auto world = rank.open_world();
    if (rank.me.value == 0) {
      const auto got = co_await rank.wait_for("nobody's", 1s);
      timed_out = got.why.code == errc::timed_out;
    }
    const auto barrier = rank.issue(world, calls::barrier());
    for (;;) {
      const bool done = co_await rank.test(barrier);
      if (done) break;
      co_await rank.compute(1ms);
    }
  };
  options.limit = 1min;
  const auto outcome = run(options);
  CHECK(outcome.code() == errc::none);
  CHECK(timed_out);
  CHECK(outcome.ended < 3s);
}

TEST_CASE("a program's timeout comes in its time when everybody had a turn") {
  job_options options;
  options.world = 64;
  std::uint32_t late = 0;
  options.program = [&](scripted_rank& rank) -> script {
    const auto world = rank.open_world();
    if (rank.me.value == 5) {
      co_await rank.sleep(20s);
    } else {
      co_await rank.compute(10ms);
      const auto got = co_await rank.wait_for("nobody's", 3s);
      late += got.why.code == errc::timed_out;
    }
    co_await rank.wait(rank.issue(world, calls::barrier()));
  };
  const auto outcome = run(options);
  CHECK(outcome.code() == errc::none);
  CHECK(late == 63);
  CHECK(outcome.ended < 22s);
}

TEST_CASE("a sleeper that says so lends its slot at once") {
  auto options = with_sleeper(true, 2);
  auto outcome = run(options);
  check_done(outcome, options);
  CHECK(outcome.ended >= 1500ms);
  CHECK(outcome.ended < 2100ms);  // three seconds of work on two slots
}

TEST_CASE("a sleeper that does not say so lends its slot a little later") {
  auto options = with_sleeper(false, 2);
  auto outcome = run(options);
  check_done(outcome, options);
  CHECK(outcome.ended < 2200ms);
}

TEST_CASE("without looking at processes a silent sleeper keeps its slot") {
  auto options = with_sleeper(false, 1);
  options.finds_sleepers = false;
  auto outcome = run(options);
  check_done(outcome, options);
  CHECK(outcome.ended >= 4s);
  options.finds_sleepers = true;
  CHECK(run(options).ended < 3200ms);
}

TEST_CASE("a rank that works is never taken for a sleeper") {
  job_options options;
  options.world = 3;
  options.slots = 1;
  options.program = [](scripted_rank& rank) -> script { co_await rank.compute(1s); };
  auto outcome = run(options);
  check_done(outcome, options);
  CHECK(outcome.report->switches == 3);
}

TEST_CASE("a sleeper whose slot is lent takes part again when it wakes") {
  for (bool says_so : {false, true}) {
    std::uint32_t rounds = 0;
    job_options options;
    options.world = 5;
    options.slots = 1;
    options.program = [&](scripted_rank& rank) -> script {
      const auto group = rank.open_world();
      for (int n = 0; n < 10; ++n) {
        if (rank.me.value % 2 == 0)
          co_await rank.compute(3ms);
        else if (says_so)
          co_await rank.sleep(50ms);
        else
          co_await rank.doze(50ms);
        co_await rank.wait(rank.issue(group, calls::barrier()));
        ++rounds;
      }
    };
    auto outcome = run(options);
    check_done(outcome, options);
    CHECK(rounds == 50);
  }
}

TEST_CASE("a result that comes while its rank sleeps unnoticed is not lost") {
  job_options options;
  options.world = 3;
  options.slots = 1;
  options.program = [](scripted_rank& rank) -> script {
    const auto group = rank.open_world();
    auto operation = rank.issue(group, calls::barrier());
    if (rank.me.value == 0) co_await rank.doze(200ms);
    auto got = co_await rank.wait(operation);
    CHECK(got.why.code == errc::none);
  };
  auto outcome = run(options);
  check_done(outcome, options);
}

TEST_CASE("a rank that polls cannot keep the others out") {
  for (std::uint32_t pollers : {1u, 3u}) {
    std::uint32_t polls = 0;
    job_options options;
    options.world = 4;
    options.slots = 1;
    options.program = [&](scripted_rank& rank) -> script {
      const auto group = rank.open_world();
      if (rank.me.value >= pollers) co_await rank.compute(1ms);
      auto operation = rank.issue(group, calls::barrier());
      if (rank.me.value >= pollers) {
        co_await rank.wait(operation);
      } else {
        while (!co_await rank.test(operation)) {
          ++polls;
          co_await rank.compute(1us);
        }
      }
    };
    auto outcome = run(options);
    check_done(outcome, options);
    CHECK(polls < 100);  // one or a few for each turn of the others, not for each microsecond
  }
}

TEST_CASE("ranks that yield take turns") {
  std::vector<std::uint32_t> order;
  job_options options;
  options.world = 3;
  options.slots = 1;
  options.program = [&](scripted_rank& rank) -> script {
    for (int n = 0; n < 20; ++n) {
      order.push_back(rank.me.value);
      co_await rank.compute(1ms);
      co_await rank.yield();
    }
  };
  auto outcome = run(options);
  check_done(outcome, options);
  REQUIRE(order.size() == 60);
  for (std::size_t n = 3; n < order.size(); ++n) CHECK(order[n] == order[n - 3]);
}

TEST_CASE("ranks that never speak to the run do not hold it up") {
  job_options options;
  options.world = 4;
  options.slots = 1;
  options.never_connect = {{1}, {3}};
  options.program = [](scripted_rank& rank) -> script {
    const auto group = rank.open({{0}, {2}});
    co_await rank.wait(rank.issue(group, calls::barrier()));
  };
  auto outcome = run(options);
  check_done(outcome, options);
}

TEST_CASE("switches stay near the fewest with which a collective can run") {
  constexpr std::uint32_t world = 32, slots = 4, rounds = 10;
  job_options options;
  options.world = world;
  options.slots = slots;
  options.program = [](scripted_rank& rank) -> script {
    const auto group = rank.open_world();
    for (std::uint32_t n = 0; n < rounds; ++n) {
      co_await rank.compute(1ms);
      co_await rank.wait(rank.issue(group, calls::barrier()));
    }
  };
  auto outcome = run(options);
  check_done(outcome, options);
  CHECK(outcome.report->switches <= (rounds + 1) * world);
}

TEST_CASE("a turn expected to be in vain is held back for a moment only") {
  // Ranks 1 and 2 wait for two collectives one after the other; rank 0 makes the second call later,
  // so that what they do between the two is nothing. In the last round it is not: rank 0 makes that
  // call only when one of them has been there.
  bool seen = false;
  job_options options;
  options.world = 3;
  options.slots = 2;
  options.limit = 1min;
  options.program = [&](scripted_rank& rank) -> script {
    const auto one = rank.open_world(), two = rank.open_world();
    for (int round = 0; round < 3; ++round) {
      const auto first = rank.issue(one, calls::barrier());
      if (rank.me.value == 0) {
        co_await rank.compute(5ms);
        for (int turn = 0; round == 2 && !seen && turn < 1000; ++turn) co_await rank.compute(10ms);
        if (round == 2) CHECK(seen);
      }
      const auto second = rank.issue(two, calls::barrier());
      co_await rank.wait(first);
      if (round == 2) seen = true;
      co_await rank.wait(second);
    }
  };
  auto outcome = run(options);
  CHECK(outcome.code() == errc::none);
  CHECK(outcome.ended < 1s);
}

TEST_CASE("who polls without a call lets the others run in the end") {
  for (const std::uint32_t slots : {1, 2}) {
    INFO(slots << " slots");
    job_options options;
    options.world = 6;
    options.slots = slots;
    bool file_is_there = false;
    options.program = [&](scripted_rank& rank) -> script {
      const auto group = rank.open_world();
      if (rank.me.value == 5) file_is_there = true;
      while (!file_is_there) co_await rank.compute(100ms);
      co_await rank.wait(rank.issue(group, calls::barrier()));
    };
    const auto outcome = run(options);
    CHECK(outcome.code() == errc::none);
    CHECK(outcome.ended < 2min);
    CHECK(outcome.report->warnings.empty());
  }
}

TEST_CASE("half a minute of work is nobody else's business") {
  job_options options;
  options.world = 6;
  options.slots = 2;
  options.program = [&](scripted_rank& rank) -> script {
    const auto group = rank.open_world();
    for (int step = 0; step < 3; ++step) {
      co_await rank.compute(29s);
      co_await rank.wait(rank.issue(group, calls::barrier()));
    }
  };
  const auto outcome = run(options);
  CHECK(outcome.code() == errc::none);
  CHECK(outcome.running_max == 2);
}
