#include "graph/graph_summary.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "graph/prism_trace_writer.hpp"
#include "tests/unit/graph/sample_graph.hpp"
#include "tests/unit/graph/temporary_folder.hpp"

using namespace troupe;

namespace {

using pairs = std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t>;

pairs pairs_of(const traffic_matrix& traffic) {
  pairs found;
  traffic.for_each_row([&](rank_id source, std::span<const std::uint64_t> row) {
    for (std::uint32_t to = 0; to < row.size(); ++to)
      if (row[to] != 0) found[{source.value, to}] = row[to];
  });
  return found;
}

/// Every member of group {4, 1, 6} of a world of 8 issues the operation once, with its own size.
pairs traffic_of(operation op, std::vector<std::uint64_t> sizes, std::int32_t root = 0) {
  execution_graph graph;
  graph.world = 8;
  graph.communicators = {sample::group({4, 1, 6}, "")};
  graph.ranks.resize(8);
  for (std::size_t member = 0; member < 3; ++member)
    graph.ranks[graph.communicators[0].members[member].value] = {
        sample::collective(op, 0, 1, sizes[member], root)};
  return pairs_of(summarize(graph).traffic);
}

std::uint64_t total(const pairs& traffic) {
  std::uint64_t sum = 0;
  for (const auto& [pair, bytes] : traffic) sum += bytes;
  return sum;
}

}  // namespace

TEST_CASE("traffic is between world ranks, by the stated convention") {
  CHECK(
      traffic_of(operation::all_gather, {10, 20, 30})
      == pairs{{{4, 1}, 10}, {{4, 6}, 10}, {{1, 4}, 20}, {{1, 6}, 20}, {{6, 4}, 30}, {{6, 1}, 30}});
  CHECK(traffic_of(operation::broadcast, {9, 9, 9}, 1) == pairs{{{1, 4}, 9}, {{1, 6}, 9}});
  CHECK(traffic_of(operation::scatter, {3, 3, 10}, 2) == pairs{{{6, 4}, 4}, {{6, 1}, 3}});
  CHECK(traffic_of(operation::gather, {5, 6, 7}, 0) == pairs{{{1, 4}, 6}, {{6, 4}, 7}});
  CHECK(traffic_of(operation::reduce, {5, 5, 5}, 2) == pairs{{{4, 6}, 5}, {{1, 6}, 5}});
  CHECK(traffic_of(operation::barrier, {0, 0, 0}).empty());
  CHECK(traffic_of(operation::all_to_all, {9, 10, 11})
        == pairs{{{4, 1}, 3}, {{4, 6}, 3}, {{1, 4}, 4}, {{1, 6}, 3}, {{6, 4}, 4}, {{6, 1}, 4}});
}

TEST_CASE("the ring's totals are exact whatever the size") {
  for (std::uint64_t size : {0, 1, 2, 3, 4, 5, 1000, 1001}) {
    const auto all_reduce = traffic_of(operation::all_reduce, {size, size, size});
    CHECK(total(all_reduce) == 4 * size);
    const auto reduce_scatter = traffic_of(operation::reduce_scatter, {size, size, size});
    CHECK(total(reduce_scatter) == 2 * size);
    for (const auto& [pair, bytes] : all_reduce)  // only to the successor in group order
      CHECK((pair == std::pair{4u, 1u} || pair == std::pair{1u, 6u} || pair == std::pair{6u, 4u}));
  }
}

TEST_CASE("a send counts once, with its exact bytes") {
  execution_graph graph;
  graph.world = 3;
  graph.communicators = {sample::group({2, 0}, "")};
  graph.ranks.resize(3);
  graph.ranks[2] = {sample::communication(node_kind::send, operation::send, 0, 1, 12345, 1)};
  graph.ranks[0] = {sample::communication(node_kind::recv, operation::recv, 0, 1, 12345, 0)};
  const auto summary = summarize(graph);
  CHECK(pairs_of(summary.traffic) == pairs{{{2, 0}, 12345}});
  CHECK(summary.operations[static_cast<std::size_t>(operation::send)].count == 1);
  CHECK(summary.operations[static_cast<std::size_t>(operation::recv)].bytes == 12345);
}

TEST_CASE("a group of one moves nothing") {
  execution_graph graph;
  graph.world = 1;
  graph.communicators = {sample::group({0}, "")};
  graph.ranks.resize(1);
  for (int op = 0; op <= static_cast<int>(operation::barrier); ++op)
    graph.ranks[0].push_back(
        sample::collective(static_cast<operation>(op), 0, static_cast<std::uint64_t>(op) + 1, 64));
  CHECK(pairs_of(summarize(graph).traffic).empty());
}

TEST_CASE("a file's summary is its graph's") {
  temporary_folder folder;
  const auto graph = sample::small_graph();
  auto writer = prism_trace_writer::create(folder.file("x"), {.world = 4, .metadata = {}});
  REQUIRE(writer);
  REQUIRE(sample::write(graph, **writer));
  REQUIRE((*writer)->close());
  auto reader = prism_trace_reader::open(folder.file("x"));
  REQUIRE(reader);
  auto of_file = summarize(**reader);
  REQUIRE(of_file);
  const auto of_graph = summarize(graph);
  CHECK(of_file->digest == structural_digest(graph));
  CHECK(of_graph.digest == structural_digest(graph));
  std::uint64_t nodes = 0, edges = 0;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    CHECK(of_file->ranks[rank].digest == structural_digest(graph, {rank}));
    CHECK(of_file->ranks[rank].compute_ns == of_graph.ranks[rank].compute_ns);
    CHECK(of_file->ranks[rank].communication_ns == of_graph.ranks[rank].communication_ns);
    for (const auto& what : graph.ranks[rank]) {
      ++nodes;
      edges += what.after.size();
    }
  }
  CHECK(of_file->nodes == nodes);
  CHECK(of_file->edges == edges);
  CHECK(of_graph.edges == edges);
  CHECK(pairs_of(of_file->traffic) == pairs_of(of_graph.traffic));
  CHECK(of_file->operations[0].count == 4);
  CHECK(of_file->operations[0].bytes == 4 * 4096);
}

TEST_CASE("sizes beyond all reason saturate instead of starting anew") {
  const auto most = ~std::uint64_t{0};
  const auto traffic = traffic_of(operation::all_gather, {most, most, 1});
  CHECK(traffic.at({4, 1}) == most);
  execution_graph graph;
  graph.world = 2;
  graph.communicators = {sample::group({0, 1}, "")};
  graph.ranks = {{sample::collective(operation::all_gather, 0, 1, most),
                  sample::collective(operation::all_gather, 0, 2, most)},
                 {}};
  CHECK(summarize(graph).operations[static_cast<std::size_t>(operation::all_gather)].bytes == most);
}
