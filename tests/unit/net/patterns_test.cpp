// patterns: each ends under every protocol and matching, and moves what its algorithm moves.
#include "graph/goal/patterns.hpp"

#include <map>
#include <set>

#include "tests/unit/net/simulated.hpp"

using namespace troupe;
using goal::operation_kind;

namespace {

goal::schedule made(const std::string& name, const goal::pattern_options& options) {
  auto schedule = goal::make_pattern(name, options);
  REQUIRE(schedule);
  return *std::move(schedule);
}

std::uint64_t sends_of(const goal::schedule& schedule) {
  std::uint64_t sends = 0;
  for (const auto& each : schedule.operations()) sends += each.kind == operation_kind::send;
  return sends;
}

/// Whose values each rank has at the end, when a message carries all that its sender had when all
/// it waited for was done: by running the operations until nothing more can.
std::vector<std::set<std::uint32_t>> knowledge_after(const goal::schedule& schedule) {
  std::vector<std::set<std::uint32_t>> known(schedule.ranks());
  for (std::uint32_t rank = 0; rank < schedule.ranks(); ++rank) known[rank] = {rank};
  std::vector<std::uint32_t> left(schedule.size());
  for (std::uint32_t i = 0; i < schedule.size(); ++i)
    for (const auto later : schedule.dependents(i)) ++left[later.operation()];
  // The n-th send of a source, destination and tag is for the n-th such recv.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>,
           std::vector<std::set<std::uint32_t>>>
      sent;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::size_t> taken;
  std::vector<bool> done(schedule.size());
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t i = 0; i < schedule.size(); ++i) {
      const auto& what = schedule[i];
      if (done[i] || left[i] > 0) continue;
      if (what.kind == operation_kind::send)
        sent[{what.rank, what.peer, schedule.tag(what)}].push_back(known[what.rank]);
      if (what.kind == operation_kind::recv) {
        const std::tuple key{what.peer, what.rank, schedule.tag(what)};
        if (taken[key] == sent[key].size()) continue;
        const auto& got = sent[key][taken[key]++];
        known[what.rank].insert(got.begin(), got.end());
      }
      done[i] = moved = true;
      for (const auto later : schedule.dependents(i)) --left[later.operation()];
    }
  }
  REQUIRE(std::find(done.begin(), done.end(), false) == done.end());
  return known;
}

}  // namespace

TEST_CASE("every pattern ends and matches, for any number of ranks, protocol and matching") {
  for (const auto& each : goal::patterns())
    for (const std::uint32_t ranks : {1, 2, 3, 5, 8, 12, 17})
      for (const std::uint64_t eager : {0, 65535})
        for (const auto rule : {matching_rule::requeue, matching_rule::mpi}) {
          const auto schedule = made(each.name, {ranks, 100, 3, 50});
          loggops_parameters parameters;
          parameters.eager_bytes_max = eager;
          parameters.matching = rule;
          const auto done = simulated(schedule, parameters);
          INFO(each.name << " of " << ranks << ", eager up to " << eager);
          REQUIRE(done.findings.empty());
          REQUIRE(done.matched == sends_of(schedule));
          REQUIRE(done.ended == schedule.size());
        }
}

TEST_CASE("what a pattern is to tell everybody, everybody knows at its end") {
  for (std::uint32_t ranks = 1; ranks <= 17; ++ranks) {
    std::set<std::uint32_t> all;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) all.insert(rank);
    for (const auto* name : {"dissemination", "recursive-doubling", "ring-all-reduce",
                             "linear-all-to-all", "pairwise-all-to-all"})
      for (const auto& known : knowledge_after(made(name, {ranks, 8, 1, 0}))) {
        INFO(name << " of " << ranks);
        REQUIRE(known == all);
      }
    INFO(ranks << " ranks");
    REQUIRE(knowledge_after(made("binomial-reduce", {ranks, 8, 1, 0}))[0] == all);
    REQUIRE(knowledge_after(made("incast", {ranks, 8, 1, 0}))[0] == all);
    for (const auto& known : knowledge_after(made("binomial-broadcast", {ranks, 8, 1, 0})))
      REQUIRE(known.contains(0));
  }
}

TEST_CASE("patterns send as many messages as their algorithms say") {
  CHECK(sends_of(made("binomial-broadcast", {100, 8, 1, 0})) == 99);
  CHECK(sends_of(made("binomial-reduce", {100, 8, 2, 0})) == 2 * 99);
  CHECK(sends_of(made("dissemination", {100, 8, 1, 0})) == 100 * 7);
  CHECK(sends_of(made("ring-all-reduce", {10, 80, 1, 0})) == 10 * 18);
  CHECK(sends_of(made("linear-all-to-all", {10, 8, 1, 0})) == 90);
  CHECK(sends_of(made("recursive-doubling", {8, 8, 1, 0})) == 24);
  CHECK(sends_of(made("sweep", {12, 8, 1, 0})) == 4 * (2 * 4 + 3 * 3));
  CHECK(made("ring-all-reduce", {10, 85, 1, 0})[0].size == 9);
}

TEST_CASE("ranks of a host become cpus of one rank, and only what leaves the host is a message") {
  for (const auto* name :
       {"nccl-all-reduce", "ring-all-reduce", "linear-all-to-all", "all-gather"}) {
    const goal::pattern_options alone{.ranks = 12, .size = 120000, .steps = 2, .compute_ns = 5};
    auto together = alone;
    together.per_host = 4;
    together.inside_gb = 100;
    together.inside_latency_ns = 500;
    const auto hosts = made(name, together);
    INFO(name);
    CHECK(hosts.ranks() == 3);
    CHECK(hosts.cpu_max() == 3);
    for (const auto& each : hosts.operations())
      CHECK((each.kind == operation_kind::calc || each.peer != each.rank));
    const auto done = simulated(hosts);
    CHECK(done.findings.empty());
    CHECK(done.warnings.empty());
    CHECK(done.matched == sends_of(hosts));
    CHECK(sends_of(hosts) < sends_of(made(name, alone)));
  }
}

TEST_CASE("a pattern says what was chosen for it") {
  const auto chosen = [](const char* name, const goal::pattern_options& options) {
    std::string by;
    REQUIRE(goal::make_pattern(name, options, &by));
    return by;
  };
  CHECK(chosen("ring", {}).empty());
  CHECK(chosen("ring-broadcast", {}) == "ring");
  CHECK(chosen("all-reduce", {}) == "recursive-doubling");
  CHECK(chosen("all-reduce", {.size = 1 << 20}) == "halving-doubling");
  CHECK(chosen("nccl-all-reduce", {.ranks = 16, .size = 8, .per_host = 8})
        == "Tree, LL, 1 channel");
  CHECK(chosen("nccl-barrier", {.ranks = 16, .per_host = 8}) == "Tree, LL, 1 channel");
  CHECK(chosen("nccl-all-gather", {.ranks = 16, .size = 1 << 26, .per_host = 8})
        == "Ring, Simple, 16 channels");
  CHECK(chosen("nccl-all-to-all", {}) == "linear");
  CHECK(chosen("nccl-reduce", {.ranks = 1}) == "nccl");
}

TEST_CASE("what a pattern has no use for is refused") {
  const auto refused = [](const char* name, const goal::pattern_options& options) {
    const auto schedule = goal::make_pattern(name, options);
    return !schedule && schedule.error().code == errc::usage;
  };
  CHECK(refused("ring", {.per_host = 2}));
  CHECK(refused("incast", {.chunk_bytes = 2}));
  CHECK(refused("ring-all-reduce", {.chunk_bytes = 2}));
  CHECK(refused("ring-all-reduce", {.per_host = 2}));
  CHECK(refused("ring-all-reduce", {.inside_gb = 2}));
  CHECK(refused("ring-all-reduce", {.per_host = 2, .inside_latency_ns = 2}));
  CHECK(refused("nccl-all-to-all", {.ranks = 4096, .size = std::uint64_t{1} << 53}));
  CHECK_FALSE(refused("nccl-all-reduce", {.per_host = 2}));
  CHECK_FALSE(refused("double-tree-all-reduce", {.chunk_bytes = 2}));
}

TEST_CASE("an unknown pattern, and one of no ranks, are refused") {
  const auto unknown = goal::make_pattern("star", {});
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == errc::usage);
  CHECK_THAT(unknown.error().context, Catch::Matchers::Contains("ring-all-reduce"));
  CHECK_FALSE(goal::make_pattern("ring", {0, 8, 1, 0}));
}
