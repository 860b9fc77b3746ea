// hostile_test: a process that says what no client says ends as a refusal, a finding or an
// interrupt: never as an assertion, and never with another rank's result wrong.
//
// TROUPE_SEED=N runs that seed alone.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <random>

#include "tests/sim/actors/scripted_job.hpp"
#include "tests/unit/actors/calls.hpp"

using namespace troupe;
using namespace troupe::sim;
using namespace std::chrono_literals;

namespace {

using numbers = std::vector<std::int64_t>;

/// Small numbers are frequent, so that they meet what exists; the others are extremes.
struct awkward {
  std::mt19937_64 random;
  std::uint64_t number() {
    const std::uint64_t extremes[] = {0,        1,   63,         64,    4096,
                                      1u << 31, ~0u, 1ull << 40, ~0ull, ~0ull - 63};
    return random() % 3 ? random() % 6 : extremes[random() % std::size(extremes)];
  }
  operation_id some_operation() {
    return operation_of(random() % 4 ? 0 : static_cast<companion_number>(random() % 3),
                        random() % 12);
  }
  /// As many bytes as the call says, if that is few; or others.
  payload bytes(const collective_call& what) {
    const auto fitting = input_count(what, 0, 3) * size_of(what.type);
    if (fitting == 0 && random() % 4) return {};
    if (fitting <= 1024 && random() % 4) return inline_bytes(fitting, 1);
    switch (random() % 3) {
      case 0:
        return {};
      case 1:
        return inline_bytes(random() % 5 * 8);
      default:
        return region{static_cast<std::uint32_t>(random() % 3), number(), number(), number()};
    }
  }
  collective_call call() {
    collective_call what{.op = static_cast<operation>(random() % operation_count),
                         .type = static_cast<element_type>(random() % element_type_count),
                         .reduce = static_cast<reduction>(random() % reduction_count),
                         .count = number(),
                         .root = static_cast<std::int32_t>(number()) - 1,
                         .tag = static_cast<std::int32_t>(number())};
    for (auto* counts : {&what.send_counts, &what.recv_counts})
      if (random() % 4 == 0)
        for (auto n = random() % 5; n > 0; --n) counts->push_back(number());
    return what;
  }
  store_request request() {
    store_request ask{.kind = static_cast<store_kind>(random() % 13),
                      .amount = static_cast<std::int64_t>(number()),
                      .timeout_ns = number()};
    for (auto n = random() % 3; n > 0; --n) ask.keys.push_back("k" + std::to_string(number()));
    ask.value.resize(random() % 13, '7');
    return ask;
  }
  to_troupe::frame frame(communicator_id group, nanos now) {
    const auto at = random() % 4 ? static_cast<std::uint64_t>(now.count()) : number();
    const auto known = random() % 4 ? group : communicator_id{number()};
    std::vector<operation_id> some;
    for (auto n = random() % 4; n > 0; --n) some.push_back(some_operation());
    std::vector<rank_id> members;
    for (auto n = random() % 4; n > 0; --n)
      members.push_back({static_cast<std::uint32_t>(number())});
    switch (random() % 12) {
      case 0:
        return to_troupe::take_slot{};
      case 1:
        if (random() % 4 == 0)
          return to_troupe::abort_communicator{{number()}, static_cast<companion_number>(number())};
        return to_troupe::open_communicator{
            known, members, 0, semantics::gloo, "odd", static_cast<companion_number>(number())};
      case 2:
        return to_troupe::call_site{{static_cast<std::uint32_t>(number())}, "odd.py:1"};
      case 3:
      case 4:
      case 5: {
        const auto what = call();
        return to_troupe::issue{some_operation(),  known,
                                {random() % 5},    what,
                                bytes(what),       {static_cast<std::uint32_t>(number())},
                                random() % 2 == 0, at};
      }
      case 6:
        return to_troupe::blocked{static_cast<release_reason>(random() % 6), some, at};
      case 7:
        return to_troupe::awaited{some, at};
      case 8:
        return to_troupe::yielded{at};
      case 9:
        return to_troupe::lease{some_operation(), number()};
      case 10:
        return to_troupe::store{some_operation(), request()};
      default:
        if (random() % 2) return to_troupe::future_taken{some_operation()};
        if (random() % 2) return to_troupe::copied{number(), number(), at};
        return to_troupe::mark{static_cast<std::uint8_t>(number()), at};
    }
  }
};

void try_seed(unsigned seed) {
  std::uint32_t wrong = 0;
  job_options options;
  options.world = 3;
  options.slots = 1 + seed % 3;
  options.seed = seed;
  options.interrupt_at = 5s;
  options.limit = 1min;
  options.program = [&](scripted_rank& rank) -> script {
    const auto world = rank.open_world();
    const std::vector<rank_id> two{{1}, {2}};
    if (rank.me.value == 0) {
      awkward some{std::mt19937_64{seed}};
      for (int n = 0; n < 60; ++n) rank.say(some.frame(world, nanos{n}));
      co_await rank.sleep(1h);
    }
    const auto pair = rank.open(two);
    for (int n = 0; n < 20; ++n) {
      co_await rank.compute(1ms);
      auto sum = co_await rank.wait(
          rank.issue(pair, calls::all_reduce(1), bytes_of(numbers(1, rank.me.value))));
      if (sum.why.code == errc::none && values_of<std::int64_t>(sum.bytes) != numbers(1, 3))
        ++wrong;
    }
    co_await rank.wait(rank.issue(world, calls::barrier()));
  };
  auto outcome = run(options);
  INFO("again: TROUPE_SEED=" << seed << " sim_actors_tests '[hostile]'");
  INFO("ended as " << to_string(outcome.code()) << ": " << outcome.text());
  REQUIRE(outcome.report);
  const auto& ranks = outcome.report->ranks;
  CHECK(std::count_if(ranks.begin(), ranks.end(), [](auto& one) { return one.rank == one.lead; })
        == 3);
  CHECK(outcome.code() != errc::internal);
  CHECK(wrong == 0);
  CHECK(outcome.actors_left == 0);
}

}  // namespace

TEST_CASE("no frame of a process breaks the run of the others", "[hostile]") {
  if (const char* one = std::getenv("TROUPE_SEED"))
    return try_seed(static_cast<unsigned>(std::strtoul(one, nullptr, 10)));
  for (unsigned seed = 1; seed <= 300; ++seed) try_seed(seed);
}
