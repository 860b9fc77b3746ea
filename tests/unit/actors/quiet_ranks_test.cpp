// quiet_ranks_test: ranks that have got on with nothing come up, at growing intervals.
#include "actors/quiet_ranks.hpp"

#include <catch2/catch.hpp>

using namespace troupe;
using namespace std::chrono_literals;

namespace {

std::vector<std::uint32_t> numbers(const std::vector<rank_wait>& waits) {
  std::vector<std::uint32_t> all;
  for (const auto& wait : waits) all.push_back(wait.rank.value);
  return all;
}

}  // namespace

TEST_CASE("ranks that wait or poll come up after their time, those that compute or get on do not") {
  quiet_ranks ranks{60s, 300s};
  for (std::uint64_t second = 0; second <= 61; ++second) {
    const nanos now = std::chrono::seconds{second};
    ranks.saw(now, {0}, {.calls = 5, .polls = 0, .pending = {{1}}, .waits_on = {{1}}});
    ranks.saw(now, {1}, {.calls = 5, .polls = second, .pending = {{2}, {3}}, .waits_on = {}});
    ranks.saw(now, {2}, {.calls = 5, .polls = 7, .pending = {{4}}, .waits_on = {}});
    ranks.saw(now, {3}, {.calls = second, .polls = 0, .pending = {{5}}, .waits_on = {{5}}});
    if (second < 60) CHECK(ranks.due(now).empty());
  }
  const auto due = ranks.due(61s);
  CHECK(numbers(due) == std::vector<std::uint32_t>{0, 1});
  CHECK(due[1].operations == std::vector<operation_id>{{2}, {3}});
  CHECK(ranks.quiet_for(61s, {{0}, {1}}) == 61s);

  std::set<rank_id> outside;
  CHECK_FALSE(ranks.all_quiet(61s, outside));  // rank 3 gets on
  ranks.ended({3});
  CHECK_FALSE(ranks.all_quiet(299s, outside));
  outside.clear();
  CHECK(ranks.all_quiet(300s, outside));
  CHECK(outside == std::set<rank_id>{{2}});
}

TEST_CASE("what was said is said again after twice the time, and a look in vain soon repeated") {
  quiet_ranks ranks{60s, 300s};
  const rank_progress waits{.calls = 1, .polls = 0, .pending = {{1}}, .waits_on = {{1}}};
  ranks.saw(0s, {0}, waits);
  REQUIRE_FALSE(ranks.due(60s).empty());
  ranks.looked(60s, false);
  CHECK(ranks.due(65s).empty());
  REQUIRE_FALSE(ranks.due(66s).empty());
  ranks.looked(66s, true);
  CHECK(ranks.due(131s).empty());
  REQUIRE_FALSE(ranks.due(132s).empty());
  ranks.looked(132s, true);
  CHECK(ranks.due(263s).empty());
  CHECK_FALSE(ranks.due(264s).empty());
}
