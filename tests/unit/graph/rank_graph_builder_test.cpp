#include "graph/rank_graph_builder.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "tests/unit/graph/sample_graph.hpp"

using namespace troupe;

namespace {

node all_reduce(std::uint64_t sequence) {
  return sample::collective(operation::all_reduce, 0, sequence, 4096);
}

std::vector<node_kind> kinds(const std::vector<node>& nodes) {
  std::vector<node_kind> found;
  for (const auto& what : nodes) found.push_back(what.kind);
  return found;
}

constexpr auto compute = node_kind::compute;
constexpr auto collective = node_kind::collective;
constexpr auto marker = node_kind::marker;

}  // namespace

TEST_CASE("a synchronous operation lies between compute nodes, edges both ways") {
  rank_graph_builder builder(1000);
  builder.issued({1}, all_reduce(1), false, 1500);
  builder.blocked(1510);
  builder.resolved({1}, 1700);
  builder.resumed(1800);
  builder.awaited({{1}}, 1805);
  builder.ended(2000);
  const auto nodes = builder.take();
  REQUIRE(kinds(nodes) == std::vector{marker, compute, collective, compute, compute, marker});
  CHECK(nodes[0].marker == marker_kind::start);
  CHECK(nodes[0].gap_ns == 1000);
  CHECK(nodes[1].duration_ns == 500);
  CHECK(nodes[2].duration_ns == 200);
  CHECK(nodes[2].after == std::vector<std::uint32_t>{1});
  CHECK(nodes[2].gap_ns == 1500);     // its stream's first node: from the run's start
  CHECK(nodes[3].duration_ns == 15);  // 1500 to 1510 and 1800 to 1805: blocked time is no compute
  CHECK(nodes[3].after.empty());
  CHECK(nodes[4].after == std::vector<std::uint32_t>{2});
  CHECK(nodes[4].duration_ns == 195);
  CHECK(nodes[5].marker == marker_kind::end);
}

TEST_CASE("a copy is a node of the program's stream between what it computes") {
  rank_graph_builder builder(0);
  builder.copied(4096, 70, 100);
  builder.copied(1, ~std::uint64_t{0}, 200);
  builder.ended(250);
  const auto nodes = builder.take();
  const auto copy = node_kind::copy;
  REQUIRE(kinds(nodes) == std::vector{marker, compute, copy, compute, copy, compute, marker});
  CHECK(nodes[1].duration_ns == 100);
  CHECK(nodes[2].stream == 0);
  CHECK(nodes[2].size == 4096);
  CHECK(nodes[2].duration_ns == 70);
  CHECK(nodes[3].duration_ns == 100);
  CHECK(nodes[4].duration_ns == 1'000'000'000'000'000'000);
}

TEST_CASE("blocked time shows as the next compute node's gap") {
  rank_graph_builder builder(0);
  builder.issued({1}, all_reduce(1), false, 100);
  builder.blocked(100);
  builder.resolved({1}, 300);
  builder.resumed(400);
  builder.awaited({{1}}, 400);
  builder.ended(450);
  const auto nodes = builder.take();
  CHECK(nodes[3].duration_ns == 0);
  CHECK(nodes[3].gap_ns + nodes[4].gap_ns == 300);
  CHECK(nodes[4].duration_ns == 50);
}

TEST_CASE("the structure does not depend on timing") {
  std::vector<std::vector<node>> runs;
  for (int seed = 0; seed < 20; ++seed) {
    std::mt19937_64 chance(seed);
    std::uint64_t now = chance() % 1000;
    auto later = [&] { return now += chance() % 3 ? chance() % 1000 : 0; };
    rank_graph_builder builder(later());
    const bool early = chance() % 2;
    builder.issued({1}, all_reduce(1), false, later());
    builder.issued({2}, all_reduce(2), true, later());
    if (early) builder.resolved({1}, later());
    if (chance() % 2) {
      builder.blocked(later());
      builder.resumed(later());
    }
    if (early && chance() % 2) builder.resolved({2}, later());
    builder.awaited({{1}}, later());
    if (!early) builder.resolved({1}, later());
    builder.awaited({{1}}, later());  // known already: no event
    builder.marked(marker_kind::optimizer_step, later());
    builder.ended(later());
    runs.push_back(builder.take());
    for (auto& what : runs.back()) what.duration_ns = what.gap_ns = 0;
    CHECK(runs.back() == runs.front());
  }
  REQUIRE(kinds(runs[0])
          == std::vector{marker, compute, collective, compute, collective, compute, compute, marker,
                         compute, marker});
}

TEST_CASE("operations handed out as futures join at a synchronising marker, once") {
  for (auto kind : {marker_kind::backward_end, marker_kind::optimizer_step}) {
    rank_graph_builder builder(0);
    builder.issued({1}, all_reduce(1), true, 10);
    builder.issued({2}, all_reduce(2), false, 20);
    builder.issued({3}, all_reduce(3), true, 30);
    builder.marked(marker_kind::iteration, 35);  // does not synchronise
    builder.marked(kind, 40);
    builder.marked(kind, 50);
    for (std::uint64_t operation : {1, 2, 3}) builder.resolved({operation}, 60);
    builder.ended(70);
    const auto nodes = builder.take();
    // start, c, 1, c, 2, c, 3, c, iteration, c, marker, c, marker, c, end
    REQUIRE(nodes.size() == 15);
    CHECK(nodes[8].after.empty());
    CHECK(nodes[10].after == std::vector<std::uint32_t>{4, 8});  // operations 3 and 1, not 2
    CHECK(nodes[12].after.empty());
  }
}

TEST_CASE("a future that was awaited is not joined again") {
  rank_graph_builder builder(0);
  builder.issued({1}, all_reduce(1), true, 10);
  builder.awaited({{1}}, 20);
  builder.marked(marker_kind::optimizer_step, 40);
  builder.resolved({1}, 45);
  builder.ended(50);
  const auto nodes = builder.take();
  REQUIRE(nodes.size() == 8);
  CHECK(nodes[4].after == std::vector<std::uint32_t>{2});
  CHECK(nodes[5].after.empty());
}

TEST_CASE("take hands out final nodes only, in order, each once") {
  rank_graph_builder builder(0);
  builder.issued({1}, all_reduce(1), false, 10);
  builder.issued({2}, all_reduce(2), false, 20);
  builder.resolved({2}, 30);
  auto taken = builder.take();
  CHECK(taken.size() == 2);  // start, compute; operation 1 is open
  builder.resolved({1}, 40);
  auto more = builder.take();
  CHECK(more.size() == 3);
  builder.awaited({{1}, {2}}, 50);
  builder.ended(60);
  taken.insert(taken.end(), more.begin(), more.end());
  for (auto& what : builder.take()) taken.push_back(what);
  REQUIRE(taken.size() == 8);
  CHECK(taken[6].after == std::vector<std::uint32_t>{2, 4});
  CHECK(builder.take().empty());
}

TEST_CASE("an operation that is never resolved ends with its rank") {
  rank_graph_builder builder(0);
  builder.issued({1}, all_reduce(1), false, 10);
  builder.ended(50);
  builder.resolved({1}, 60);  // too late to count
  const auto nodes = builder.take();
  REQUIRE(nodes.size() == 5);
  CHECK(nodes[2].duration_ns == 40);
}

TEST_CASE(
    "overlapping operations of one stream have no gap, later ones are measured from the last's "
    "end") {
  rank_graph_builder builder(0);
  builder.issued({1}, all_reduce(1), false, 10);
  builder.issued({2}, all_reduce(2), false, 20);
  builder.resolved({1}, 100);
  builder.resolved({2}, 110);
  builder.issued({3}, all_reduce(3), false, 150);
  builder.resolved({3}, 160);
  builder.ended(200);
  const auto nodes = builder.take();
  CHECK(nodes[4].gap_ns == 0);
  CHECK(nodes[4].duration_ns == 90);
  CHECK(nodes[6].gap_ns == 40);
}

TEST_CASE("a clock that runs behind makes no negative time") {
  rank_graph_builder builder(100);
  builder.issued({1}, all_reduce(1), false, 90);
  builder.resolved({1}, 80);
  builder.blocked(85);
  builder.resumed(70);
  builder.awaited({{1}}, 60);
  builder.ended(50);
  for (const auto& what : builder.take()) {
    CHECK(what.duration_ns == 0);
    CHECK(what.gap_ns <= 100);
  }
}
