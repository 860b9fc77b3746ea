// rank_member_test: a process' ranks each have their own part of the graph, of what they called.
#include "actors/rank_member.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace troupe;
using Catch::Matchers::Contains;

namespace {

to_troupe::open_communicator opening(companion_number companion, std::vector<rank_id> members) {
  return {{7}, std::move(members), 0, semantics::nccl, "pair", companion};
}

node collective() {
  node made;
  made.kind = node_kind::collective;
  made.op = operation::barrier;
  made.sequence = 1;
  return made;
}

std::uint64_t compute_ns(const std::vector<node>& nodes) {
  std::uint64_t sum = 0;
  for (const auto& one : nodes)
    if (one.kind == node_kind::compute) sum += one.duration_ns;
  return sum;
}

}  // namespace

TEST_CASE("a companion is there from its first communicator on, and keeps what it has") {
  rank_members all({1}, 3);
  CHECK(all.lead().me == rank_id{1});
  CHECK(all.of(2) == nullptr);
  CHECK(all.caller(operation_of(2, 5)) == nullptr);
  auto& second = all.enter(2, 10);
  CHECK(second.me == rank_id{7});
  CHECK(&all.enter(2, 20) == &second);
  CHECK(all.caller(operation_of(2, 5)) == &second);
  CHECK(all.companions() == std::vector<rank_id>{{7}});
  CHECK(second.group({7}) == nullptr);
  second.groups[{7}].size = 2;
  REQUIRE(second.group({7}));
  CHECK(all.lead().group({7}) == nullptr);
}

TEST_CASE("a communicator that cannot be is told of before anybody keeps its ranks") {
  rank_members all({1}, 3);
  CHECK(all.misfit(opening(0, {{1}, {4}})).empty());
  CHECK(all.misfit(opening(1, {{1}, {4}})).empty());
  CHECK_THAT(all.misfit(opening(2, {{1}, {4}})), Contains("rank 7 opens communicator pair"));
  CHECK_THAT(all.misfit(opening(0, {{1}, {logical_ranks_max}})), Contains("a run has at most"));
  CHECK(all.companions().empty());
}

TEST_CASE("ranks of a process compute while it runs, and await what they called themselves") {
  rank_members all({0}, 1);
  all.resumed(100);
  auto& other = all.enter(1, 150);
  const auto mine = operation_of(0, 1), its = operation_of(1, 2);
  all.lead().graph.issued(mine, collective(), false, 200);
  other.graph.issued(its, collective(), false, 200);
  all.blocked(210);
  all.lead().graph.resolved(mine, 250);
  other.graph.resolved(its, 260);
  all.resumed(300);
  all.awaited({its}, 310);
  all.ended(400);
  const auto parts = all.take();
  REQUIRE(parts.size() == 2);
  CHECK(parts[0].first == rank_id{0});
  CHECK(parts[1].first == rank_id{1});
  CHECK(compute_ns(parts[0].second) == 210);  // from 100 to 210, from 300 to 400
  CHECK(compute_ns(parts[1].second) == 160);  // from 150 on
  const auto edges = [](const std::vector<node>& nodes) {
    return std::count_if(nodes.begin(), nodes.end(), [](const node& one) {
      return one.kind == node_kind::compute && !one.after.empty();
    });
  };
  CHECK(edges(parts[1].second) == edges(parts[0].second) + 1);
  CHECK(all.take().empty());
}
