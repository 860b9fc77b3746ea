// sums_test: whole jobs on few slots give every rank the right result, the same to the bit and the
// same graph for any number of slots, and never more ranks run than there are slots.
#include <catch2/catch.hpp>
#include <random>

#include "graph/execution_graph.hpp"
#include "graph/prism_trace_reader.hpp"
#include "tests/sim/actors/scripted_job.hpp"
#include "tests/unit/actors/calls.hpp"
#include "tests/unit/graph/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::sim;
using namespace std::chrono_literals;

namespace {

void check_done(const job_outcome& outcome, const job_options& options) {
  INFO(outcome.text());
  CHECK(outcome.code() == errc::none);
  CHECK(outcome.running_max <= options.slots);
  CHECK(outcome.regions_busy == 0);
  CHECK(outcome.actors_left == 0);
}

/// Awkward numbers: their float sum depends on the order.
std::vector<float> numbers_of(rank_id rank, std::size_t count) {
  std::mt19937 random(rank.value);
  std::uniform_real_distribution<float> any(-1e6f, 1e6f);
  std::vector<float> numbers(count);
  for (auto& number : numbers) number = any(random);
  return numbers;
}

using results = std::vector<std::vector<std::uint8_t>>;

/// Three iterations of compute and all_reduce, in frames or in regions, and a barrier.
job_options training(results& into, std::uint32_t world, std::uint32_t slots, std::size_t count) {
  into.assign(world, {});
  job_options options;
  options.world = world;
  options.slots = slots;
  options.program = [&into, count](scripted_rank& rank) -> script {
    const auto group = rank.open_world();
    const auto mine = bytes_of(numbers_of(rank.me, count));
    const bool in_frame = mine.size() <= 4096;
    region extent;
    if (!in_frame) {
      auto leased = co_await rank.lease(mine.size() + 64);
      CHECK(leased.why.code == errc::none);
      extent = leased.region;
    }
    for (int iteration = 0; iteration < 3; ++iteration) {
      co_await rank.compute(1ms + rank.me.value % 7 * 100us);
      auto operation =
          rank.issue(group, calls::all_reduce(count, element_type::f32),
                     in_frame ? payload{mine} : rank.place(extent, mine), "train.py:7");
      auto sum = co_await rank.wait(operation);
      CHECK(sum.why.context == "");
      auto& all = into[rank.me.value];
      all.insert(all.end(), sum.bytes.begin(), sum.bytes.end());
      rank.mark(3);
      co_await rank.wait(rank.issue(group, calls::barrier()));  // all have read: write again
    }
  };
  return options;
}

}  // namespace

TEST_CASE("ranks on any number of slots get the same sums to the bit") {
  for (std::uint32_t world : {1u, 2u, 8u, 64u})
    for (std::size_t count : {100u, 5000u}) {
      results first;
      for (std::uint32_t slots : {1u, 2u, 4u, world}) {
        INFO(world << " ranks on " << slots << " slots, " << count << " elements");
        results sums;
        auto options = training(sums, world, slots, count);
        auto outcome = run(options);
        check_done(outcome, options);
        REQUIRE(outcome.report);
        CHECK(outcome.report->ranks.size() == world);
        CHECK(outcome.running_max == std::min(slots, world));
        for (auto& sum : sums) {
          CHECK(sum.size() == 3 * count * sizeof(float));
          CHECK(sum == sums[0]);
        }
        if (first.empty()) first = sums;
        CHECK(sums == first);
      }
    }
}

TEST_CASE("the graph is the same for any number of slots") {
  temporary_folder folder;
  std::optional<std::uint64_t> first;
  for (std::uint32_t slots : {1u, 2u, 4u, 8u}) {
    INFO(slots << " slots");
    results sums;
    auto options = training(sums, 8, slots, 64);
    options.trace = folder.file("run" + std::to_string(slots) + ".prism");
    auto outcome = run(options);
    check_done(outcome, options);
    auto reader = prism_trace_reader::open(options.trace);
    REQUIRE(reader);
    CHECK_FALSE((*reader)->is_cut());
    auto graph = (*reader)->load();
    REQUIRE(graph);
    CHECK(graph->ranks.size() == 8);
    CHECK(graph->communicators.size() == 1);
    CHECK(graph->call_sites == std::vector<std::string>{"", "train.py:7"});
    for (const auto& nodes : graph->ranks) {
      std::size_t collectives = 0;
      for (const auto& one : nodes) collectives += one.kind == node_kind::collective;
      CHECK(collectives == 6);
    }
    CHECK_FALSE(graph->slots.empty());
    const auto digest = structural_digest(*graph);
    if (!first) first = digest;
    CHECK(digest == *first);
  }
}

TEST_CASE("one job runs the same way twice, to the message") {
  auto once = [] {
    results sums;
    auto options = training(sums, 16, 3, 100);
    options.wire_delay_max = 50us;
    return run(options);
  };
  const auto a = once(), b = once();
  CHECK(a.ended == b.ended);
  CHECK(a.messages == b.messages);
  CHECK(a.report->switch_ns == b.report->switch_ns);
}

TEST_CASE("every collective reaches those it should, on fewer slots than ranks") {
  constexpr std::uint32_t world = 5;
  job_options options;
  options.world = world;
  options.slots = 2;
  options.program = [](scripted_rank& rank) -> script {
    using numbers = std::vector<std::int64_t>;
    const auto group = rank.open_world();
    const std::int64_t me = rank.me.value, size = world;
    numbers five;
    for (std::int64_t i = 0; i < size; ++i) five.push_back(10 * me + i);
    auto ask = [&](collective_call call, numbers input) {
      return rank.issue(group, call, input.empty() ? payload{} : payload{bytes_of(input)});
    };
    auto check = [&](const answer& got, const numbers& expected) {
      INFO("rank " << me << ": " << got.why.context);
      CHECK(got.why.code == errc::none);
      CHECK(values_of<std::int64_t>(got.bytes) == expected);
    };
    numbers sum, mine, gathered;
    for (std::int64_t i = 0; i < size; ++i) {
      sum.push_back(100 + 5 * i);
      mine.push_back(10 * i + me);
      gathered.push_back(10 * i);
    }
    struct asked {
      collective_call call;
      numbers input, expected;
    };
    const numbers one{10 * me}, none, others{40, 41, 42, 43, 44};
    const std::vector<asked> all{
        {calls::all_reduce(5), five, sum},
        {calls::reduce(5, 3), five, me == 3 ? sum : none},
        {calls::reduce_scatter(5), five, {100 + 5 * me}},
        {calls::plain(operation::all_to_all, 5), five, mine},
        {calls::plain(operation::all_gather, 1), one, gathered},
        {calls::plain(operation::gather, 1, 2), one, me == 2 ? gathered : none},
        {calls::plain(operation::broadcast, 5, 4), me == 4 ? five : none, me == 4 ? none : others},
        {calls::plain(operation::scatter, 1, 1), me == 1 ? five : none, {10 + me}},
        {calls::barrier(), none, none},
    };
    for (const auto& each : all) {
      auto got = co_await rank.wait(ask(each.call, each.input));
      check(got, each.expected);
    }
  };
  auto outcome = run(options);
  check_done(outcome, options);
}

TEST_CASE("many operations are issued, then awaited in any order") {
  std::uint32_t right = 0;
  job_options options;
  options.world = 6;
  options.slots = 2;
  options.program = [&right](scripted_rank& rank) -> script {
    const auto group = rank.open_world();
    std::vector<operation_id> issued;
    for (std::int64_t n = 0; n < 50; ++n)
      issued.push_back(rank.issue(group, calls::all_reduce(1),
                                  bytes_of(std::vector<std::int64_t>{n + rank.me.value})));
    co_await rank.compute(1ms);
    for (std::size_t n = 0; n < issued.size(); ++n) {
      const auto which = n * 7 % issued.size();  // a permutation
      auto sum = co_await rank.wait(issued[which]);
      right += values_of<std::int64_t>(sum.bytes)
               == std::vector<std::int64_t>{6 * static_cast<std::int64_t>(which) + 15};
    }
  };
  auto outcome = run(options);
  check_done(outcome, options);
  CHECK(right == 6 * 50);
}
