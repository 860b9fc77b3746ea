#include "graph/execution_graph.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/graph/sample_graph.hpp"

using namespace troupe;

TEST_CASE("times and call sites do not change a structural digest") {
  const auto graph = sample::small_graph();
  auto other = graph;
  for (auto& nodes : other.ranks)
    for (auto& what : nodes) {
      what.duration_ns = what.duration_ns * 3 + 1;
      what.gap_ns += 17;
      what.call_site = 0;
    }
  CHECK(structural_digest(other) == structural_digest(graph));
}

TEST_CASE("every structural field changes a structural digest") {
  const auto graph = sample::small_graph();
  const auto digest = structural_digest(graph, {0});
  const std::size_t send = graph.ranks[0].size() - 7;
  REQUIRE(graph.ranks[0][send].kind == node_kind::send);
  auto differs = [&](auto change) {
    auto other = graph;
    change(other.ranks[0][send]);
    return structural_digest(other, {0}) != digest
           && structural_digest(other) != structural_digest(graph);
  };
  CHECK(differs([](node& n) { n.kind = node_kind::recv; }));
  CHECK(differs([](node& n) { n.stream = 9; }));
  CHECK(differs([](node& n) { n.op = operation::recv; }));
  CHECK(differs([](node& n) { n.type = element_type::f16; }));
  CHECK(differs([](node& n) { n.reduce = reduction::max; }));
  CHECK(differs([](node& n) { n.communicator = 0; }));
  CHECK(differs([](node& n) { n.sequence = 2; }));
  CHECK(differs([](node& n) { n.size += 1; }));
  CHECK(differs([](node& n) { n.peer = 1; }));
  CHECK(differs([](node& n) { n.tag = 7; }));
  CHECK(differs([](node& n) { n.after = {1, 2}; }));
  CHECK(differs([](node& n) { n.after = {}; }));
}

TEST_CASE("a digest counts communicators by id, not by their place in the table") {
  const auto graph = sample::small_graph();
  auto other = graph;
  std::swap(other.communicators[0], other.communicators[1]);
  for (auto& nodes : other.ranks)
    for (auto& what : nodes)
      if (communicates(what.kind)) what.communicator = 1 - what.communicator;
  CHECK(structural_digest(other) == structural_digest(graph));
}

TEST_CASE("the order of nodes and of ranks changes a digest") {
  const auto graph = sample::small_graph();
  auto other = graph;
  std::swap(other.ranks[0], other.ranks[1]);
  CHECK(structural_digest(other) != structural_digest(graph));
  other = graph;
  std::swap(other.ranks[1][1], other.ranks[1][2]);
  CHECK(structural_digest(other, {1}) != structural_digest(graph, {1}));
}
