// schedule_graph: a schedule as a graph, and back on the network.
#include "graph/goal/schedule_graph.hpp"

#include "tests/unit/net/traced.hpp"

using namespace troupe;
using goal::sample::schedule_of;

namespace {

execution_graph graph_of(const goal::schedule& what) {
  auto made = goal::tables_of(what);
  REQUIRE(made);
  for (std::uint32_t rank = 0; rank < what.ranks(); ++rank) {
    auto nodes = goal::nodes_of(what, rank);
    INFO((nodes ? "" : nodes.error().context));
    REQUIRE(nodes);
    made->ranks.push_back(std::move(nodes->nodes));
  }
  return *std::move(made);
}

std::string refusal(const std::string& text) {
  const auto nodes = goal::nodes_of(schedule_of(text), 0);
  REQUIRE_FALSE(nodes);
  CHECK(nodes.error().code == errc::bad_input);
  return nodes.error().context;
}

}  // namespace

TEST_CASE("an operation is a node, after all that it waits for") {
  const auto graph = graph_of(schedule_of(
      "num_ranks 2\nrank 0 {\na: calc 10\nb: send 8b to 1 tag 3\nc: calc 20\nd: calc 5\n"
      "b requires a\nd requires c\nd requires b\n}\n"
      "rank 1 {\nr: recv 8b from -1 tag 3\ns: recv 9b from 0\n}\n"));
  const auto& nodes = graph.ranks[0];
  REQUIRE(nodes.size() == 4);
  CHECK(nodes[0].kind == node_kind::compute);
  CHECK(nodes[0].duration_ns == 10);
  CHECK(nodes[1].kind == node_kind::send);
  CHECK(nodes[1].tag == 3);
  CHECK(nodes[1].after == std::vector<std::uint32_t>{1});
  CHECK(nodes[2].after.empty());
  CHECK(nodes[2].stream != nodes[0].stream);  // they may run at once
  CHECK(nodes[3].stream == nodes[2].stream);
  CHECK(nodes[3].after == std::vector<std::uint32_t>{2});
  CHECK(graph.ranks[1][0].peer == any_source);
  CHECK(graph.ranks[1][1].peer == 0);
  CHECK(graph.ranks[1][0].stream != graph.ranks[1][1].stream);
}

TEST_CASE("an operation that waits for a start waits for what that waits for") {
  const auto graph = graph_of(
      schedule_of("num_ranks 1\nrank 0 {\na: calc 10\nb: calc 100\nc: calc 1\nb requires a\n"
                  "c irequires b\n}\n"));
  const auto& c = graph.ranks[0][2];
  CHECK(c.after == std::vector<std::uint32_t>{2});
  CHECK(traced(graph).simulated().finish_ns == 110);
}

TEST_CASE("a node may come after one that stands below it in the file") {
  const auto made = goal::nodes_of(
      schedule_of("num_ranks 1\nrank 0 {\na: calc 1\nb: calc 2\na requires b\n}\n"), 0);
  REQUIRE(made);
  CHECK(made->operations == std::vector<std::uint32_t>{1, 0});
}

TEST_CASE("what a graph cannot say is refused") {
  CHECK(refusal("num_ranks 1\nrank 0 {\na: calc 1\nb: calc 2\na requires b\nb requires a\n}\n")
        == "rank 0 has 2 operations wait for each other in a circle");
  CHECK(refusal("num_ranks 1\nrank 0 {\nrecv 8b from 0 tag -1\n}\n").find("any tag")
        != std::string::npos);
  CHECK(refusal("num_ranks 1\nrank 0 {\nsend 8b to 0 tag 2147483648\n}\n").find("2147483648")
        != std::string::npos);
}

TEST_CASE("on a network the graph of a schedule takes what the schedule takes") {
  std::mt19937_64 chance(5);
  const auto below = [&](std::uint64_t end) { return static_cast<std::uint32_t>(chance() % end); };
  for (int round = 0; round < 300; ++round) {
    const auto ranks = 1 + below(5);
    std::vector<std::vector<goal::operation_description>> all(ranks);
    for (auto messages = below(30); messages > 0; --messages) {
      const auto from = below(ranks), to = below(ranks), tag = below(3);
      if (from == to) continue;  // a graph's stay in the rank
      const auto size = below(5000);
      all[from].push_back(
          {.kind = goal::operation_kind::send, .size = size, .peer = to, .tag = tag});
      all[to].push_back(
          {.kind = goal::operation_kind::recv, .size = size, .peer = from, .tag = tag});
    }
    for (auto calcs = below(30); calcs > 0; --calcs)
      all[below(ranks)].push_back({.kind = goal::operation_kind::calc, .size = below(3000)});
    goal::schedule_builder builder;
    for (auto& operations : all) {
      builder.begin_rank();
      // Each on a cpu of its own: a graph has streams, not cpus that they share. Each after the one
      // before: else which of two messages comes first is the model's choice.
      for (std::uint32_t i = 0; i < operations.size(); ++i) {
        operations[i].cpu = static_cast<std::uint16_t>(i);
        builder.add(operations[i]);
        if (i > 0 && operations[i].kind != goal::operation_kind::recv)
          builder.depend(i, i - 1, false);
        if (i > 1) builder.depend(i, below(i - 1), false);
      }
      REQUIRE(builder.end_rank());
    }
    const auto schedule = builder.finish();
    const auto expected = simulated(schedule);
    INFO("round " << round);
    const auto done = traced(graph_of(schedule)).simulated();
    CHECK(done.matched == expected.matched);
    CHECK(done.findings.empty() == expected.findings.empty());
    CHECK(done.hosts_ns == expected.hosts_ns);
  }
}
