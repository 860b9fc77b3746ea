// random_jobs_test: random programs × misfortunes × slots × wire delays under a seed. Whatever
// happens: at most `slots` ranks run, no result is wrong, a run without misfortune is done, one
// with it ends as it must, and nothing is left.
//
// TROUPE_SEED=N runs that seed alone.
#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <map>
#include <random>

#include "tests/sim/actors/scripted_job.hpp"
#include "tests/unit/actors/calls.hpp"

using namespace troupe;
using namespace troupe::sim;
using namespace std::chrono_literals;

namespace {

enum class misfortune { none, killed, fails, ends_early, mismatch, interrupt, never_sends };
constexpr int misfortune_count = 7;
const char* const misfortune_names[] = {"none",     "killed",    "fails",      "ends early",
                                        "mismatch", "interrupt", "never sends"};

/// What all ranks do at one step of the program, and each its own pauses around it.
struct step {
  enum kind {
    all_reduce,
    barrier,
    all_gather,
    ring,
    store,
    async_sums,
    half_sum,
    companions_sum
  } what{};
  std::uint32_t count = 1;
};

struct plan {
  explicit plan(unsigned seed) {
    std::mt19937 random(seed);
    world = 2 + random() % 14;
    slots = 1 + random() % std::min(world, 5u);
    what = static_cast<misfortune>(random() % misfortune_count);
    victim = random() % world;
    const std::uint32_t steps = 3 + random() % 10;
    for (std::uint32_t n = 0; n < steps; ++n)
      program.push_back(
          {static_cast<step::kind>(random() % 8), 1 + static_cast<std::uint32_t>(random() % 900)});
    at_step = random() % steps;
    at = nanos{random() % 20'000'000 + 1};
    delay = random() % 2 ? nanos{random() % 200'000} : nanos{0};
  }
  std::uint32_t world, slots, victim, at_step;
  misfortune what;
  std::vector<step> program;
  nanos at, delay;
};

/// The program of one rank; wrong results are counted.
script play(scripted_rank& rank, const plan& by, unsigned seed, std::uint32_t& wrong) {
  std::mt19937 random(seed * 1000 + rank.me.value);
  using numbers = std::vector<std::int64_t>;
  const auto group = rank.open_world();
  std::vector<rank_id> half;
  for (std::uint32_t other = rank.me.value % 2; other < by.world; other += 2)
    half.push_back({other});
  const auto halves = rank.open(half);
  std::vector<rank_id> twice;  // each process' lead and a companion
  for (std::uint32_t other = 0; other < by.world; ++other)
    for (companion_number companion : {1u, 0u})
      twice.push_back(rank_of({other}, companion, by.world));
  const auto pairs = rank.open(twice);
  rank.open(twice, semantics::gloo, {}, 1);
  const std::int64_t me = rank.me.value, world = by.world, all = world * (world - 1) / 2;
  const bool victim = rank.me.value == by.victim;
  bool told = false;
  auto check = [&](const answer& got, const numbers& expected) {
    if (got.why.code != errc::none)
      told = true;
    else if (values_of<std::int64_t>(got.bytes) != expected)
      ++wrong;
  };
  for (std::uint32_t n = 0; n < by.program.size() && !told; ++n) {
    const auto& now = by.program[n];
    switch (random() % 6) {
      case 0:
        co_await rank.compute(nanos{random() % 3'000'000});
        break;
      case 1:
        co_await rank.sleep(nanos{random() % 3'000'000});
        break;
      case 2:
        co_await rank.doze(nanos{random() % 60'000'000});
        break;
      case 3:
        co_await rank.yield();
        break;
      default:
        break;
    }
    if (victim && n == by.at_step) {
      if (by.what == misfortune::fails) co_await rank.exit(7);
      if (by.what == misfortune::ends_early) co_return;
      if (by.what == misfortune::never_sends) co_await rank.get("never");
    }
    auto count = now.count;
    if (victim && by.what == misfortune::mismatch && n == by.at_step) ++count;
    const auto mine = payload{bytes_of(numbers{me})};
    numbers expected;
    switch (now.what) {
      case step::all_reduce: {
        expected = numbers(count, all);
        payload bytes = bytes_of(numbers(count, me));
        if (count > 512) {
          auto leased = co_await rank.lease(8 * count + 64);
          bytes = rank.place(leased.region, bytes_of(numbers(count, me)));
        }
        auto got = co_await rank.wait(rank.issue(group, calls::all_reduce(count), bytes));
        check(got, expected);
        break;
      }
      case step::barrier: {
        auto operation = rank.issue(group, calls::barrier());
        if (by.what != misfortune::never_sends)  // whoever polls is not blocked
          while (!co_await rank.test(operation)) co_await rank.compute(20us);
        auto got = co_await rank.wait(operation);
        check(got, expected);
        break;
      }
      case step::all_gather: {
        for (std::int64_t other = 0; other < world; ++other) expected.push_back(other);
        auto got =
            co_await rank.wait(rank.issue(group, calls::plain(operation::all_gather, 1), mine));
        check(got, expected);
        break;
      }
      case step::ring: {
        const auto next = static_cast<std::int32_t>((me + 1) % world);
        const auto previous = static_cast<std::int32_t>((me + world - 1) % world);
        const auto tag = static_cast<std::int32_t>(n);
        auto sent = rank.issue(group, calls::send(next, 1, tag), mine);
        expected.push_back(previous);
        auto got = co_await rank.wait(rank.issue(group, calls::recv(previous, 1, tag)));
        check(got, expected);
        got = co_await rank.wait(sent);
        if (got.why.code != errc::none) told = true;
        break;
      }
      case step::store: {
        const auto key = "step" + std::to_string(n);
        auto added = co_await rank.add(key, 1);
        if (added.reply.number == world) co_await rank.set(key + "/all", "");
        co_await rank.wait_for(key + "/all");
        break;
      }
      case step::async_sums: {
        std::map<std::int64_t, operation_id> issued;
        for (std::int64_t i = 0; i < 5; ++i)
          issued[i] = rank.issue(group, calls::all_reduce(1), bytes_of(numbers{me + i}));
        std::vector<std::int64_t> order{0, 1, 2, 3, 4};
        std::shuffle(order.begin(), order.end(), random);
        for (auto i : order) {
          expected.assign(1, all + i * world);
          auto got = co_await rank.wait(issued[i]);
          check(got, expected);
        }
        break;
      }
      case step::companions_sum: {
        expected.assign(1, world * (2 * world - 1));
        const auto own = rank.issue(pairs, calls::all_reduce(1), mine);
        const payload other = bytes_of(numbers{me + world});
        const auto its = rank.issue(pairs, calls::all_reduce(1), other, "b.py:1", 1);
        const std::vector either{own, its};
        co_await rank.wait_any(either);
        for (auto operation : either) {
          auto got = co_await rank.wait(operation);
          check(got, expected);
        }
        break;
      }
      case step::half_sum: {
        expected.assign(1, 0);
        for (auto other : half) expected[0] += other.value;
        auto got = co_await rank.wait(rank.issue(halves, calls::all_reduce(1), mine));
        check(got, expected);
        break;
      }
    }
  }
  if (told) co_await rank.exit(1);
}

/// Which outcomes the misfortune may have: it may come too late, or concern nobody.
bool may_end_so(const plan& by, errc code) {
  switch (by.what) {
    case misfortune::none:
      return code == errc::none;
    case misfortune::killed:
      return code == errc::lost_rank || code == errc::none;
    case misfortune::fails:
      return code == errc::program_failed;
    case misfortune::ends_early:
      return code == errc::mismatch || code == errc::deadlock || code == errc::none;
    case misfortune::mismatch:
      return code == errc::mismatch || code == errc::none;
    case misfortune::interrupt:
      return code == errc::interrupted || code == errc::none;
    case misfortune::never_sends:
      return code == errc::deadlock;
  }
  return false;
}

void try_seed(unsigned seed) {
  const plan by(seed);
  std::uint32_t wrong = 0;
  job_options options;
  options.world = by.world;
  options.slots = by.slots;
  options.seed = seed;
  options.wire_delay_max = by.delay;
  options.limit = 10min;
  if (by.what == misfortune::killed) options.kills = {{by.at, {by.victim}, SIGKILL}};
  if (by.what == misfortune::interrupt) options.interrupt_at = by.at;
  options.program = [&](scripted_rank& rank) { return play(rank, by, seed, wrong); };
  auto outcome = run(options);
  INFO("again: TROUPE_SEED=" << seed << " sim_actors_tests '[random]'   (" << by.world << " ranks, "
                             << by.slots << " slots, "
                             << misfortune_names[static_cast<int>(by.what)] << ")");
  INFO("ended as " << to_string(outcome.code()) << ": " << outcome.text());
  REQUIRE(outcome.report);
  CHECK(may_end_so(by, outcome.code()));
  CHECK(wrong == 0);
  CHECK(outcome.running_max <= by.slots);
  CHECK(outcome.actors_left == 0);
  const auto& ranks = outcome.report->ranks;
  CHECK(std::count_if(ranks.begin(), ranks.end(), [](auto& one) { return one.rank == one.lead; })
        == by.world);
  if (by.what == misfortune::none) CHECK(ranks.size() == 2 * by.world);
  if (by.what == misfortune::none) CHECK(outcome.regions_busy == 0);
}

}  // namespace

TEST_CASE("random jobs end as they must, whatever befalls them", "[random]") {
  if (const char* one = std::getenv("TROUPE_SEED"))
    return try_seed(static_cast<unsigned>(std::strtoul(one, nullptr, 10)));
  for (unsigned seed = 1; seed <= 400; ++seed) try_seed(seed);
}
