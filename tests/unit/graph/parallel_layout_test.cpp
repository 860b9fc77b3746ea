#include "graph/workload/parallel_layout.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "graph/workload/rank_channels.hpp"
#include "tests/unit/graph/llm_sample.hpp"

namespace troupe::workload {
namespace {

std::vector<std::uint32_t> numbers(const std::vector<rank_id>& ranks) {
  std::vector<std::uint32_t> all;
  for (auto each : ranks) all.push_back(each.value);
  return all;
}
using list = std::vector<std::uint32_t>;

// Megatron-LM's own example for 16 ranks, tp 2 and pp 4 (parallel_state's documentation).
TEST_CASE("groups are Megatron-LM's") {
  const parallel_layout layout{2, 4, 2, 1, 2};
  const auto group = [&](group_kind kind, std::uint64_t rank) {
    return numbers(layout.members(kind, layout.group_of(kind, rank)));
  };
  CHECK(group(group_kind::tensor, 5) == list{4, 5});
  CHECK(group(group_kind::data, 0) == list{0, 2});
  CHECK(group(group_kind::data, 7) == list{5, 7});
  CHECK(group(group_kind::model, 0) == list{0, 1, 4, 5, 8, 9, 12, 13});
  CHECK(group(group_kind::model, 3) == list{2, 3, 6, 7, 10, 11, 14, 15});
  CHECK(group(group_kind::forward, 1) == list{1, 5});
  CHECK(group(group_kind::forward, 13) == list{1, 13});
  CHECK(group(group_kind::embedding, 3) == list{3, 15});
}

TEST_CASE("experts divide the ranks of a stage anew") {
  const parallel_layout same{2, 2, 4, 2, 2};  // ep divides dp
  CHECK(numbers(same.members(group_kind::expert, same.group_of(group_kind::expert, 1)))
        == list{1, 3});
  CHECK(numbers(same.members(group_kind::expert, same.group_of(group_kind::expert, 14)))
        == list{12, 14});
  CHECK(numbers(same.members(group_kind::expert_data, same.group_of(group_kind::expert_data, 3)))
        == list{3, 7});
  const parallel_layout whole{2, 1, 4, 4, 1};  // experts are not split
  CHECK(numbers(whole.members(group_kind::expert, 1)) == list{4, 5, 6, 7});
  CHECK(numbers(whole.members(group_kind::expert_data, 2)) == list{2, 6});
}

TEST_CASE("every rank is in one group of each kind, and the group knows it") {
  for (const auto& layout : {parallel_layout{2, 3, 4, 2, 2}, parallel_layout{4, 2, 3, 6, 2},
                             parallel_layout{1, 4, 8, 4, 1}, parallel_layout{3, 1, 2, 2, 3}}) {
    REQUIRE(check(layout));
    for (int number = 0; number < group_kind_count; ++number) {
      const auto kind = static_cast<group_kind>(number);
      if (kind == group_kind::forward || kind == group_kind::backward
          || kind == group_kind::embedding)
        continue;  // not of every rank
      std::set<std::uint32_t> seen;
      for (std::uint64_t group = 0; group < layout.group_count(kind); ++group) {
        const auto members = layout.members(kind, group);
        CHECK(members.size() == layout.group_size(kind));
        CHECK(std::is_sorted(members.begin(), members.end()));
        for (auto each : members) {
          CHECK(layout.group_of(kind, each.value) == group);
          CHECK(seen.insert(each.value).second);
        }
      }
      CHECK(seen.size() == layout.world());
    }
  }
}

TEST_CASE("communicators have two members or more, names and ids of their own") {
  auto options = options_of(small_moe(), {2, 2, 2, 2, 2});
  options.virtual_stages = 2;
  options.schedule = schedule_kind::interleaved;
  options.model.tied_embeddings = true;
  const rank_channels channels(options);
  std::set<std::uint64_t> ids;
  std::set<std::string> names;
  for (const auto& each : channels.communicators()) {
    CHECK(each.members.size() >= 2);
    CHECK(ids.insert(each.id.value).second);
    CHECK(names.insert(each.name).second);
  }
  // tp, dp, ep, etp (edp has one member); 8 + 8 between stages, 4 ties, the world
  CHECK(names.size() == 4 + 4 + 4 + 4 + 8 + 8 + 4 + 1);
  CHECK(channels.communicators().front().name == "tp 0");
}

}  // namespace
}  // namespace troupe::workload
