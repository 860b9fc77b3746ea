#include "graph/node_columns.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "graph/node_check.hpp"
#include "tests/unit/graph/sample_graph.hpp"

using namespace troupe;

namespace {

std::vector<node> there_and_back(const std::vector<node>& nodes, std::uint32_t first) {
  node_columns_encoder encoder;
  for (const auto& what : nodes) encoder.add(what);
  column_packer packer(1);
  const auto chunk = encoder.encode({3}, first, packer);
  node_columns_decoder decoder;
  auto columns = decoder.decode(chunk);
  INFO((columns ? "" : columns.error().context));
  REQUIRE(columns);
  CHECK(columns->rank == rank_id{3});
  CHECK(columns->first == first);
  std::vector<node> back;
  for (std::uint32_t i = 0; i < columns->count; ++i) back.push_back(columns->at(i));
  return back;
}

}  // namespace

TEST_CASE("nodes come back from their columns") {
  const auto graph = sample::small_graph();
  for (const auto& nodes : graph.ranks) CHECK(there_and_back(nodes, 0) == nodes);
}

TEST_CASE("nodes of which no two have the same shape come back") {
  std::mt19937_64 chance(5);
  std::vector<node> nodes;
  for (int i = 0; i < 5000; ++i) {
    node what = sample::collective(static_cast<operation>(chance() % 9), chance() % 50, chance(),
                                   chance(), static_cast<std::int32_t>(chance()));
    what.tag = static_cast<std::int32_t>(chance());
    what.stream = static_cast<std::uint16_t>(chance());
    what.call_site = static_cast<std::uint32_t>(chance());
    what.duration_ns = chance() % node_time_ns_max;
    what.gap_ns = chance() >> (8 + chance() % 56);
    what.after.clear();
    for (std::uint32_t at = 0, n = chance() % 4; n > 0; --n)
      what.after.push_back(at += 1 + chance() % 100);
    nodes.push_back(what);
  }
  CHECK(there_and_back(nodes, 1'000'000) == nodes);
}

TEST_CASE("sequences that count on cost nothing") {
  auto packed_bytes = [](auto sequence_of) {
    node_columns_encoder encoder;
    for (std::uint64_t i = 0; i < 10'000; ++i)
      encoder.add(sample::collective(operation::all_reduce, 0, sequence_of(i), 64));
    column_packer packer(1);
    std::size_t bytes = 0;
    const auto chunk = encoder.encode({0}, 0, packer);
    for (const auto& column : chunk.columns) bytes += column.data.size();
    return bytes;
  };
  std::mt19937_64 chance(1);
  CHECK(packed_bytes([](auto i) { return 1'000'000 + i; }) < 200);
  CHECK(packed_bytes([&](auto) { return chance(); }) > 10'000);
}

TEST_CASE("an edge from before the rank's first node is not believed") {
  node_columns_encoder encoder;
  encoder.add(sample::compute(1));
  encoder.add(sample::compute(1, {2}));
  column_packer packer(1);
  auto chunk = encoder.encode({0}, 1, packer);
  node_columns_decoder decoder;
  CHECK(decoder.decode(chunk));
  chunk.first = 0;
  auto refused = decoder.decode(chunk);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::bad_input);
}

TEST_CASE("a chunk whose columns are swapped, missing or doubled is not believed") {
  const auto graph = sample::small_graph();
  node_columns_encoder encoder;
  for (const auto& what : graph.ranks[0]) encoder.add(what);
  column_packer packer(1);
  const auto chunk = encoder.encode({0}, 0, packer);
  node_columns_decoder decoder;
  REQUIRE(decoder.decode(chunk));
  for (std::size_t i = 0; i < chunk.columns.size(); ++i) {
    auto changed = chunk;
    changed.columns.erase(changed.columns.begin() + static_cast<std::ptrdiff_t>(i));
    CHECK_FALSE(decoder.decode(changed));
    changed = chunk;
    changed.columns.push_back(chunk.columns[i]);
    CHECK_FALSE(decoder.decode(changed));
    if (i + 1 < 4) {
      changed = chunk;
      std::swap(changed.columns[i], changed.columns[i + 1]);
      CHECK_FALSE(decoder.decode(changed));
    }
  }
}
