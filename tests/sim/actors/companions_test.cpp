// companions_test: processes that are several logical ranks: each is a rank by itself to
// communicators, findings and the report, and they share a slot and an end.
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>

#include "graph/prism_trace_reader.hpp"
#include "tests/sim/actors/scripted_job.hpp"
#include "tests/unit/actors/calls.hpp"

using namespace troupe;
using namespace troupe::sim;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

using numbers = std::vector<std::int64_t>;

payload just(std::int64_t value) { return bytes_of(numbers{value}); }

std::vector<rank_id> ranks(std::initializer_list<std::uint32_t> all) {
  std::vector<rank_id> made;
  for (auto rank : all) made.push_back({rank});
  return made;
}

/// What each rank of this process gives is a power of ten by its number.
std::int64_t share(rank_id rank) {
  std::int64_t value = 1;
  for (std::uint32_t n = 0; n < rank.value; ++n) value *= 10;
  return value;
}

/// The process opens the communicator as its first `own` ranks, and each calls `times` all-reduces,
/// all of them before any is waited for.
struct members {
  scripted_rank& rank;
  std::vector<rank_id> all;
  companion_number own;
  communicator_id group{};
  std::vector<operation_id> operations = {};

  void open() {
    for (companion_number n = 0; n < own; ++n) group = rank.open(all, semantics::nccl, "pair", n);
  }
  void call() {
    for (companion_number n = 0; n < own; ++n)
      operations.push_back(rank.issue(group, calls::all_reduce(1),
                                      just(share(rank_of(rank.me, n, rank.world))), "prog+0x1", n));
  }
};

void check_deadlock(const job_outcome& outcome, const std::vector<rank_id>& cycle) {
  INFO(outcome.text());
  CHECK(outcome.code() == errc::deadlock);
  CHECK(outcome.ended <= 3s);
  CHECK(outcome.actors_left == 0);
  REQUIRE(outcome.report);
  REQUIRE(outcome.report->findings.size() == 1);
  CHECK(outcome.report->findings.front().cycle == cycle);
}

}  // namespace

TEST_CASE("one process is four ranks: they meet, and each is in the report and in the trace") {
  const auto path = std::filesystem::temp_directory_path() / "troupe-companions.prism";
  job_options options;
  options.world = 1;
  options.trace = path;
  std::vector<std::int64_t> got;
  options.program = [&](scripted_rank& rank) -> script {
    members mine{rank, ranks({0, 1, 2, 3}), 4};
    mine.open();
    mine.call();
    mine.call();
    for (auto operation : mine.operations) {
      auto result = co_await rank.wait(operation);
      got.push_back(values_of<std::int64_t>(result.bytes).at(0));
    }
  };
  const auto outcome = run(options);
  INFO(outcome.text());
  CHECK(outcome.code() == errc::none);
  CHECK(outcome.actors_left == 0);
  CHECK(got == std::vector<std::int64_t>(8, 1111));
  REQUIRE(outcome.report);
  REQUIRE(outcome.report->ranks.size() == 4);
  for (std::uint32_t n = 0; n < 4; ++n) {
    CHECK(outcome.report->ranks[n].rank == rank_id{n});
    CHECK(outcome.report->ranks[n].lead == rank_id{0});
    CHECK(outcome.report->ranks[n].wait_status == 0);
  }
  auto trace = prism_trace_reader::open(path);
  REQUIRE(trace);
  CHECK((*trace)->world() == 4);
  REQUIRE((*trace)->communicators().size() == 1);
  CHECK((*trace)->communicators().front().members == ranks({0, 1, 2, 3}));
  for (std::uint32_t n = 0; n < 4; ++n) {
    auto nodes = (*trace)->load(rank_id{n});
    REQUIRE(nodes);
    CHECK(std::count_if(nodes->begin(), nodes->end(),
                        [](const node& one) { return one.kind == node_kind::collective; })
          == 2);
    CHECK(nodes->back().kind == node_kind::marker);
  }
  std::filesystem::remove(path);
  std::filesystem::remove(path.string() + ".journal");
}

TEST_CASE("processes of several ranks share fewer slots, and blocked ones hand theirs over") {
  for (std::uint32_t slots : {1u, 2u, 3u})
    for (unsigned seed = 1; seed <= 5; ++seed) {
      INFO(slots << " slots, seed " << seed);
      job_options options;
      options.world = 3;
      options.slots = slots;
      options.seed = seed;
      options.wire_delay_max = 200us;
      std::vector<std::int64_t> got;
      options.program = [&](scripted_rank& rank) -> script {
        members mine{rank, ranks({0, 3, 1, 4, 2, 5}), 2};
        mine.open();
        for (int round = 0; round < 10; ++round) {
          mine.operations.clear();
          co_await rank.compute(1ms * (1 + rank.me.value));
          mine.call();
          for (auto operation : mine.operations) {
            auto result = co_await rank.wait(operation);
            got.push_back(values_of<std::int64_t>(result.bytes).at(0));
          }
        }
      };
      const auto outcome = run(options);
      INFO(outcome.text());
      CHECK(outcome.code() == errc::none);
      CHECK(outcome.running_max <= slots);
      CHECK(got == std::vector<std::int64_t>(60, 111111));
      REQUIRE(outcome.report);
      CHECK(outcome.report->ranks.size() == 6);
    }
}

TEST_CASE("a process goes on with whatever one of its ranks gets first") {
  job_options options;
  options.world = 2;
  options.slots = 1;
  bool went_on = false;
  options.program = [&](scripted_rank& rank) -> script {
    const auto first = rank.open(ranks({0, 1}), semantics::nccl, "first");
    if (rank.me.value == 0) {
      const auto second = rank.open(ranks({2, 1}), semantics::nccl, "second", 1);
      const auto late = rank.issue(first, calls::all_reduce(1), just(1));
      const auto early = rank.issue(second, calls::all_reduce(1), just(1), {}, 1);
      const std::vector both{late, early};
      co_await rank.wait_any(both);
      went_on = rank.is_done(early) && !rank.is_done(late);
      co_await rank.set("went on", "yes");
      co_await rank.wait(late);
    } else {
      const auto second = rank.open(ranks({2, 1}), semantics::nccl, "second");
      co_await rank.wait(rank.issue(second, calls::all_reduce(1), just(1)));
      co_await rank.get("went on");
      co_await rank.wait(rank.issue(first, calls::all_reduce(1), just(1)));
    }
  };
  const auto outcome = run(options);
  INFO(outcome.text());
  CHECK(outcome.code() == errc::none);
  CHECK(went_on);
}

TEST_CASE("what waits for a companion fails with the process that was its lead's") {
  job_options options;
  options.world = 2;
  options.slots = 2;
  error told;
  options.program = [&](scripted_rank& rank) -> script {
    const auto group = rank.open(ranks({0, 3}), semantics::nccl, "pair", rank.me.value);
    if (rank.me.value == 1) {
      co_await rank.compute(10ms);
      co_await rank.exit(3);
    }
    auto got = co_await rank.wait(rank.issue(group, calls::all_reduce(1), just(1)));
    told = got.why;
  };
  const auto outcome = run(options);
  CHECK(outcome.code() == errc::program_failed);
  CHECK_THAT(outcome.text(), Contains("rank 1 exited with status 3"));
  CHECK(outcome.actors_left == 0);
  REQUIRE(outcome.report);
  CHECK(outcome.report->ranks.size() == 3);
}

TEST_CASE("a companion that ends in order with its process is named by those who lack it") {
  job_options options;
  options.world = 2;
  options.slots = 2;
  error told;
  options.program = [&](scripted_rank& rank) -> script {
    const auto group = rank.open(ranks({0, 3}), semantics::nccl, "pair", rank.me.value);
    if (rank.me.value == 1) co_return;
    co_await rank.compute(1s);
    auto got = co_await rank.wait(rank.issue(group, calls::all_reduce(1), just(1)));
    told = got.why;
  };
  const auto outcome = run(options);
  INFO(outcome.text());
  CHECK(outcome.code() == errc::mismatch);
  CHECK_THAT(outcome.text(), Contains("rank 1 ended, and rank 3 with it; ")
                                 && Contains("number 1 of pair lacks it, rank 0 waits"));
  CHECK(told.code == errc::mismatch);
  CHECK(outcome.report->findings.front().ranks == ranks({3}));
}

TEST_CASE("a rank that its own process never has call is a deadlock that names both") {
  job_options options;
  options.world = 1;
  options.program = [&](scripted_rank& rank) -> script {
    members mine{rank, ranks({0, 1}), 2};
    mine.open();
    co_await rank.wait(rank.issue(mine.group, calls::all_reduce(1), just(1), "prog+0x2"));
  };
  const auto outcome = run(options);
  check_deadlock(outcome, ranks({0, 1}));
  CHECK_THAT(outcome.text(),
             Contains("as number 1 of pair at prog+0x2 and waits for rank 1; rank 1 calls nothing "
                      "while its process waits with rank 0"));
  CHECK(outcome.report->findings.front().ranks == ranks({0, 1}));
}

TEST_CASE("a circle through companions of two processes is written out by rank") {
  job_options options;
  options.world = 2;
  options.slots = 2;
  options.program = [&](scripted_rank& rank) -> script {
    // Rank 0 waits for rank 1; that one's process has rank 3 wait for rank 2, whose lead is rank 0.
    const auto leads = rank.open(ranks({0, 1}), semantics::nccl, "leads");
    const auto companions = rank.open(ranks({2, 3}), semantics::nccl, "companions", 1);
    operation_id operation;
    if (rank.me.value == 0)
      operation = rank.issue(leads, calls::all_reduce(1), just(1), "a+0x1");
    else
      operation = rank.issue(companions, calls::all_reduce(1), just(1), "a+0x2", 1);
    co_await rank.wait(operation);
  };
  const auto outcome = run(options);
  check_deadlock(outcome, ranks({0, 1, 3, 2}));
  CHECK_THAT(outcome.text(), Contains("rank 0 called")
                                 && Contains("and waits for rank 1; rank 1 "
                                             "calls nothing while its "
                                             "process waits with rank 3")
                                 && Contains("and waits for rank 2; rank 2 calls nothing"));
}

TEST_CASE("a process whose other threads may still act is not accused for its companions") {
  job_options options;
  options.world = 1;
  options.have_helpers = ranks({0});
  options.program = [&](scripted_rank& rank) -> script {
    members mine{rank, ranks({0, 1}), 2};
    mine.open();
    const auto first = rank.issue(mine.group, calls::all_reduce(1), just(1));
    const std::vector any{first};
    co_await rank.wait_any(any);
  };
  options.limit = 5s;
  options.interrupt_at = 4s;
  CHECK(run(options).code() == errc::interrupted);
}

TEST_CASE("a companion calls nothing on what it has not opened, and has a number that can be") {
  job_options options;
  options.world = 1;
  std::vector<error> told;
  options.program = [&](scripted_rank& rank) -> script {
    const auto group = rank.open(ranks({0}), semantics::nccl, "own");
    for (companion_number companion : {1u, companions_max}) {
      auto got =
          co_await rank.wait(rank.issue(group, calls::all_reduce(1), just(1), {}, companion));
      told.push_back(got.why);
    }
    rank.open(ranks({0}), semantics::nccl, "of others", 1);
    auto got = co_await rank.wait(rank.issue(group, calls::all_reduce(1), just(1), {}, 1));
    told.push_back(got.why);
  };
  const auto outcome = run(options);
  REQUIRE(told.size() == 3);
  for (const auto& why : told) CHECK(why.code == errc::bad_input);
  CHECK_THAT(told[0].context, Contains("rank 1 calls"));
}
