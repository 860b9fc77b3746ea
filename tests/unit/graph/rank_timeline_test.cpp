#include "graph/rank_timeline.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "graph/rank_graph_builder.hpp"
#include "messages/release_reason.hpp"
#include "tests/unit/graph/sample_graph.hpp"

using namespace troupe;

TEST_CASE("what a rank was seen doing is laid out where it was seen") {
  rank_graph_builder builder(1000);
  auto issue = [&](std::uint64_t number, std::uint64_t at) {
    builder.issued({number}, sample::collective(operation::all_reduce, 0, number, 64), false, at);
  };
  issue(1, 1500);
  issue(2, 1600);  // overlaps 1
  builder.resolved({1}, 2000);
  builder.blocked(1650);
  builder.resolved({2}, 2100);
  builder.resumed(2300);
  builder.awaited({{2}}, 2300);
  issue(3, 2500);
  builder.resolved({3}, 2600);
  builder.ended(3000);
  const auto nodes = builder.take();
  const auto timeline = lay_out(nodes);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> operations;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (communicates(nodes[i].kind))
      operations.emplace_back(timeline.start_ns[i], timeline.end_ns[i]);
  using spans = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  CHECK(operations == spans{{1500, 2000}, {1600, 2100}, {2500, 2600}});
  CHECK(timeline.start_ns.front() == 1000);
  CHECK(timeline.end_ns.back() == 3000);
  CHECK(timeline.rows.size() == 3);  // program, two lanes
}

TEST_CASE(
    "an overlapping operation starts when it was issued, also behind an interrupted compute") {
  rank_graph_builder builder(0);
  auto issue = [&](std::uint64_t number, std::uint64_t at) {
    builder.issued({number}, sample::collective(operation::all_reduce, 0, number, 64), false, at);
  };
  issue(1, 100);
  builder.blocked(150);  // off its slot in the middle of what it computes
  builder.resumed(400);
  issue(2, 500);
  builder.resolved({1}, 900);
  builder.resolved({2}, 950);
  builder.ended(1000);
  const auto nodes = builder.take();
  const auto timeline = lay_out(nodes);
  std::vector<std::uint64_t> starts;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (communicates(nodes[i].kind)) starts.push_back(timeline.start_ns[i]);
  CHECK(starts == std::vector<std::uint64_t>{100, 500});
}

TEST_CASE("times that no clock reaches stay on the picture") {
  std::vector<node> nodes(2000, sample::compute(std::uint64_t{1} << 56));
  const auto timeline = lay_out(nodes);
  CHECK(timeline.end_ns.back() == timeline_ns_max);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    REQUIRE(timeline.start_ns[i] <= timeline.end_ns[i]);
  const auto most = ~std::uint64_t{0};
  const auto spans =
      slot_spans(std::vector<slot_interval>{{{0}, {0}, 5, most, 0}, {{0}, {0}, most, 3, 0}});
  REQUIRE(spans.size() == 1);
  CHECK(spans[0].end_ns == timeline_ns_max);
}

TEST_CASE("no two nodes overlap on a row, whatever their times") {
  std::mt19937_64 chance(9);
  for (int round = 0; round < 20; ++round) {
    std::vector<node> nodes;
    for (std::uint64_t i = 0; i < 500; ++i) {
      node what =
          chance() % 2 ? sample::collective(operation::all_reduce, 0, i, 1) : sample::compute(0);
      what.duration_ns = chance() % 4 ? chance() % 1000 : 0;
      what.gap_ns = chance() % 2 ? chance() % 100 : 0;
      what.after.clear();
      if (i > 0) what.after.push_back(1 + chance() % std::min<std::uint64_t>(i, 20));
      nodes.push_back(what);
    }
    const auto timeline = lay_out(nodes);
    std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> rows(timeline.rows.size());
    for (std::size_t i = 0; i < nodes.size(); ++i)
      rows[timeline.row[i]].emplace_back(timeline.start_ns[i], timeline.end_ns[i]);
    REQUIRE(rows.size() > 2);
    for (auto& row : rows) {
      std::sort(row.begin(), row.end());
      for (std::size_t i = 1; i < row.size(); ++i) REQUIRE(row[i - 1].second <= row[i].first);
    }
  }
}

TEST_CASE("a rank's slots and the time between them, with the reason") {
  const std::vector<slot_interval> intervals = {
      {{3}, {1}, 500, 900, static_cast<std::uint8_t>(release_reason::ended)},
      {{3}, {0}, 100, 200, static_cast<std::uint8_t>(release_reason::store)},
      {{3}, {0}, 150, 300, static_cast<std::uint8_t>(release_reason::collective)}};  // overlaps
  const auto spans = slot_spans(intervals);
  REQUIRE(spans.size() == 4);
  CHECK((spans[0].is_running && spans[0].start_ns == 100 && spans[0].end_ns == 200));
  CHECK((spans[1].is_running && spans[1].start_ns == 200 && spans[1].end_ns == 300));
  CHECK((!spans[2].is_running && spans[2].start_ns == 300 && spans[2].end_ns == 500));
  CHECK(spans[2].why == static_cast<std::uint8_t>(release_reason::collective));
  CHECK((spans[3].is_running && spans[3].slot == slot_id{1}));
}
