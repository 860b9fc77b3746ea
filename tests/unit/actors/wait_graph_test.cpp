// wait_graph_test: exactly the ranks that can never go on are found, and the circle is named.
#include "actors/wait_graph.hpp"

#include <catch2/catch.hpp>
#include <random>

using namespace troupe;
using Catch::Matchers::Contains;

namespace {

std::vector<rank_id> ranks(std::initializer_list<std::uint32_t> numbers) {
  std::vector<rank_id> all;
  for (auto number : numbers) all.push_back({number});
  return all;
}
std::set<rank_id> set_of(std::initializer_list<std::uint32_t> numbers) {
  const auto all = ranks(numbers);
  return {all.begin(), all.end()};
}

/// An operation number n that these ranks have called, each under the number n too.
open_operation open(std::uint64_t n, std::initializer_list<std::uint32_t> callers,
                    std::initializer_list<std::uint32_t> lacking, bool one_suffices = false) {
  open_operation made{"op" + std::to_string(n), {7}, {n}, {}, ranks(lacking), one_suffices};
  for (auto rank : callers)
    made.callers.push_back({{rank},
                            {n},
                            "rank " + std::to_string(rank) + " called op" + std::to_string(n),
                            "site" + std::to_string(rank)});
  return made;
}
rank_wait wait(std::uint32_t rank, std::initializer_list<std::uint64_t> operations) {
  rank_wait made{{rank}, {}, {}};
  for (auto number : operations) made.operations.push_back({number});
  return made;
}

}  // namespace

TEST_CASE("nobody is stuck while what is lacking may still come") {
  CHECK(wait_graph(3, {wait(0, {1}), wait(1, {1})}, {}, {open(1, {0, 1}, {2})}).stuck().empty());
  CHECK(wait_graph(2, {}, {}, {open(1, {0}, {1})}).stuck().empty());
}

TEST_CASE("a circle of two is found while others run, with all who wait behind it") {
  const wait_graph graph(
      5, {wait(0, {1}), wait(1, {2}), wait(3, {3}), wait(4, {4})}, {},
      {open(1, {0}, {1}), open(2, {1}, {0}), open(3, {3}, {0, 2}), open(4, {4}, {2})});
  CHECK(graph.stuck() == set_of({0, 1, 3}));
  const auto what = graph.describe();
  CHECK(what.kind == errc::deadlock);
  CHECK(what.cycle == ranks({0, 1}));
  CHECK(what.ranks == ranks({0, 1}));
  CHECK(what.operations == std::vector<std::string>{"op1", "op2"});
  CHECK(what.call_sites == std::vector<std::string>{"site0", "site1"});
  CHECK(what.text
        == "ranks wait for each other for ever: rank 0 called op1 and waits for rank 1; "
           "rank 1 called op2 and waits for rank 0; 1 other rank waits behind");
}

TEST_CASE("a circle begins with its least rank, whoever leads into it") {
  const wait_graph graph(
      6, {wait(0, {1}), wait(3, {3}), wait(5, {5}), wait(2, {2})}, {},
      {open(1, {0}, {5}), open(5, {5}, {3}), open(3, {3}, {2}), open(2, {2}, {5})});
  CHECK(graph.describe().cycle == ranks({2, 5, 3}));
}

TEST_CASE("a rank may wait for itself") {
  const wait_graph graph(2, {wait(1, {4})}, {}, {open(4, {1}, {1})});
  CHECK(graph.describe().cycle == ranks({1}));
  CHECK_THAT(graph.describe().text, Contains("waits for itself"));
}

TEST_CASE("several threads: any of their operations lets the rank go on") {
  auto graph = [](std::initializer_list<std::uint64_t> zero) {
    return wait_graph(3, {wait(0, zero), wait(1, {2})}, {},
                      {open(1, {0}, {1}), open(2, {1}, {0}), open(3, {0}, {2})});
  };
  CHECK(graph({1}).stuck() == set_of({0, 1}));
  CHECK(graph({1, 3}).stuck().empty());
}

TEST_CASE("an operation that no group has open may complete") {
  CHECK(wait_graph(2, {wait(0, {1, 9}), wait(1, {2})}, {}, {open(1, {0}, {1}), open(2, {1}, {0})})
            .stuck()
            .empty());
}

TEST_CASE("where one caller suffices, all of them must be stuck") {
  const auto any_of = [](std::initializer_list<rank_wait> waits) {
    return wait_graph(3, waits, {},
                      {open(1, {0}, {0, 1, 2}, true), open(2, {1}, {0}), open(3, {2}, {0})});
  };
  CHECK(any_of({wait(0, {1}), wait(1, {2})}).stuck().empty());
  CHECK(any_of({wait(0, {1}), wait(1, {2}), wait(2, {3})}).stuck() == set_of({0, 1, 2}));
}

TEST_CASE("a key that nobody is left to set is no circle") {
  const std::vector<open_operation> keys{open(1, {0}, {}, true), open(2, {1}, {}, true)};
  CHECK(wait_graph(3, {wait(0, {1}), wait(1, {2})}, {}, keys).stuck().empty());
  const wait_graph graph(3, {wait(0, {1}), wait(1, {2})}, set_of({2}), keys);
  CHECK(graph.stuck() == set_of({0, 1}));
  CHECK(graph.describe().cycle.empty());
  CHECK(graph.describe().text
        == "nobody can do what is waited for: rank 0 called op1; rank 1 called op2");
}

TEST_CASE("who waits for what a short timeout will end is not stuck, nor is who waits for that") {
  auto key = open(1, {0}, {}, true);
  const auto other = open(2, {1}, {0});
  CHECK(wait_graph(2, {wait(0, {1}), wait(1, {2})}, {}, {key, other}).stuck() == set_of({0, 1}));
  key.fails_soon = true;
  CHECK(wait_graph(2, {wait(0, {1}), wait(1, {2})}, {}, {key, other}).stuck().empty());
}

TEST_CASE("a rank that has ended calls nothing any more") {
  const wait_graph graph(3, {wait(0, {1}), wait(1, {2})}, set_of({2}),
                         {open(1, {0}, {2}), open(2, {1}, {0})});
  CHECK(graph.stuck() == set_of({0, 1}));
  CHECK(graph.describe().ranks == ranks({0}));
  CHECK_THAT(graph.describe().text, Contains("rank 0 called op1 and waits for rank 2"));
}

TEST_CASE("random waits: the stuck ones are those that no order of events lets go on") {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    INFO("round " << round);
    const std::uint32_t world = 2 + random() % 6;
    std::vector<rank_wait> waits;
    std::set<rank_id> ended, waiting;
    std::vector<open_operation> all;
    std::uint64_t operations = 0;
    for (std::uint32_t n = 0; n < world; ++n) {
      if (random() % 5 == 0) {
        ended.insert({n});
        continue;
      }
      if (random() % 4 == 0) continue;
      rank_wait made{{n}, {}, {}};
      for (unsigned k = 0; k < 1 + random() % 2; ++k) {
        auto operation = open(++operations, {n}, {}, random() % 3 == 0);
        for (std::uint32_t other = 0; other < world; ++other)
          if (random() % 3 == 0) operation.lacking.push_back({other});
        if (operation.lacking.empty() && !operation.one_suffices)
          operation.lacking.push_back({(n + 1) % world});
        made.operations.push_back({operations});
        all.push_back(std::move(operation));
      }
      waiting.insert({n});
      waits.push_back(std::move(made));
    }
    // The reference lets ranks go on, one at a time, until none can.
    std::set<rank_id> free;
    for (std::uint32_t n = 0; n < world; ++n)
      if (!ended.contains({n}) && !waiting.contains({n})) free.insert({n});
    for (std::size_t before = world + 1; before != free.size();) {
      before = free.size();
      for (const auto& made : waits)
        for (auto number : made.operations) {
          const auto& operation = all[number.value - 1];
          std::size_t there = 0;
          for (auto rank : operation.lacking) there += free.contains(rank);
          const bool completes = !operation.one_suffices     ? there == operation.lacking.size()
                                 : operation.lacking.empty() ? !free.empty()
                                                             : there > 0;
          if (completes) free.insert(made.rank);
        }
    }
    std::set<rank_id> expected;
    for (auto rank : waiting)
      if (!free.contains(rank)) expected.insert(rank);
    const wait_graph graph(world, waits, ended, all);
    REQUIRE(graph.stuck() == expected);
    if (!expected.empty()) {
      const auto what = graph.describe();
      CHECK_FALSE(what.ranks.empty());
      for (auto rank : what.ranks) CHECK(expected.contains(rank));
    }
  }
}

TEST_CASE("a process goes on when any of its ranks' operations can complete") {
  // Two processes of two ranks: 0 and 2, 1 and 3. The companions' operations are numbered theirs.
  const auto of_companion = [](std::uint64_t n, std::uint32_t rank,
                               std::initializer_list<std::uint32_t> lacking) {
    auto made = open(n, {rank}, lacking);
    made.callers.front().operation = operation_of(1, n);
    return made;
  };
  auto waits = wait(0, {1});
  waits.operations.push_back(operation_of(1, 2));
  CHECK(wait_graph(2, {waits}, {}, {open(1, {0}, {2}), of_companion(2, 2, {3})}).stuck().empty());
  const wait_graph ended(2, {waits}, set_of({1}), {open(1, {0}, {2}), of_companion(2, 2, {3})});
  CHECK(ended.stuck() == set_of({0}));
  CHECK_THAT(ended.describe().text,
             Contains("rank 2 called op2 and waits for rank 3, which has ended"));
}

TEST_CASE("a circle within a process, or through one, names who calls nothing") {
  const wait_graph own(1, {wait(0, {1})}, {}, {open(1, {0}, {1, 2})});
  const auto what = own.describe();
  CHECK(what.cycle == ranks({0, 1}));
  CHECK(what.ranks == ranks({0, 1}));
  CHECK(what.operations == std::vector<std::string>{"op1", ""});
  CHECK(what.text
        == "ranks wait for each other for ever: rank 0 called op1 and waits for rank 1; rank 1 "
           "calls nothing while its process waits with rank 0");
}
