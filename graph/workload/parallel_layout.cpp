#include "graph/workload/parallel_layout.hpp"

#include <algorithm>
#include <string>

namespace troupe::workload {
namespace {

constexpr std::uint64_t world_max = 1u << 20;  // docs/trace_format.md

}  // namespace

const char* to_string(group_kind kind) {
  constexpr const char* names[group_kind_count] = {
      "tp", "dp", "ep", "etp", "edp", "pp_forward", "pp_backward", "embedding", "model", "world"};
  return names[static_cast<int>(kind)];
}

std::uint64_t parallel_layout::group_size(group_kind kind) const {
  switch (kind) {
    case group_kind::tensor:
      return tp;
    case group_kind::data:
      return dp;
    case group_kind::expert:
      return ep;
    case group_kind::expert_tensor:
      return expert_tp;
    case group_kind::expert_data:
      return expert_dp();
    case group_kind::forward:
    case group_kind::backward:
    case group_kind::embedding:
      return std::min<std::uint64_t>(pp, 2);
    case group_kind::model:
      return tp * pp;
    case group_kind::world:
      break;
  }
  return world();
}

std::uint64_t parallel_layout::group_count(group_kind kind) const {
  if (kind == group_kind::forward || kind == group_kind::backward) return world();
  if (kind == group_kind::embedding) return stage_ranks();
  return world() / group_size(kind);
}

std::uint64_t parallel_layout::group_of(group_kind kind, std::uint64_t rank) const {
  const auto stage = stage_of(rank), place = rank % stage_ranks();
  switch (kind) {
    case group_kind::tensor:
      return rank / tp;
    case group_kind::data:
      return stage * tp + rank % tp;
    case group_kind::expert:
      return stage * (stage_ranks() / ep) + replica_of_experts(rank) * expert_tp + rank % expert_tp;
    case group_kind::expert_tensor:
      return rank / expert_tp;
    case group_kind::expert_data:
      return stage * (expert_tp * ep) + place % (expert_tp * ep);
    case group_kind::forward:
    case group_kind::backward:
      return rank;
    case group_kind::embedding:
      return place;
    case group_kind::model:
      return place / tp;
    case group_kind::world:
      break;
  }
  return 0;
}

std::vector<rank_id> parallel_layout::members(group_kind kind, std::uint64_t group) const {
  const auto size = stage_ranks();
  std::vector<rank_id> all;
  const auto add = [&](std::uint64_t first, std::uint64_t count, std::uint64_t step) {
    for (std::uint64_t i = 0; i < count; ++i)
      all.push_back(rank_id{static_cast<std::uint32_t>(first + i * step)});
  };
  switch (kind) {
    case group_kind::tensor:
      add(group * tp, tp, 1);
      break;
    case group_kind::data:
      add(group / tp * size + group % tp, dp, tp);
      break;
    case group_kind::expert: {
      const auto of_stage = size / ep, in_stage = group % of_stage;
      add(group / of_stage * size + in_stage / expert_tp * (expert_tp * ep) + in_stage % expert_tp,
          ep, expert_tp);
      break;
    }
    case group_kind::expert_tensor:
      add(group * expert_tp, expert_tp, 1);
      break;
    case group_kind::expert_data:
      add(group / (expert_tp * ep) * size + group % (expert_tp * ep), expert_dp(), expert_tp * ep);
      break;
    case group_kind::forward:
    case group_kind::backward: {
      const auto next = (group + size) % world();
      add(std::min(group, next), 1, 1);
      if (pp > 1) add(std::max(group, next), 1, 1);
      break;
    }
    case group_kind::embedding:
      add(group, group_size(kind), (pp - 1) * size);
      break;
    case group_kind::model:
      for (std::uint64_t stage = 0; stage < pp; ++stage) add(stage * size + group * tp, tp, 1);
      break;
    case group_kind::world:
      add(0, world(), 1);
  }
  return all;
}

result<void> check(const parallel_layout& layout) {
  std::uint64_t product = 1;
  for (const auto& [name, value] :
       {std::pair{"tp", layout.tp}, std::pair{"pp", layout.pp}, std::pair{"dp", layout.dp},
        std::pair{"ep", layout.ep}, std::pair{"expert-tp", layout.expert_tp}})
    if (value == 0 || value > world_max)
      return error{errc::usage, std::string(name) + " " + std::to_string(value) + ": expected 1 to "
                                    + std::to_string(world_max)};
  for (auto each : {layout.tp, layout.pp, layout.dp}) product *= each;
  if (product > world_max)
    return error{errc::usage, "tp × pp × dp is " + std::to_string(product)
                                  + " ranks, more than a trace has, " + std::to_string(world_max)};
  if (layout.stage_ranks() % (layout.expert_tp * layout.ep) != 0)
    return error{errc::usage, "expert-tp × ep, " + std::to_string(layout.expert_tp) + " × "
                                  + std::to_string(layout.ep)
                                  + ", does not divide the ranks of a pipeline stage, tp × dp = "
                                  + std::to_string(layout.stage_ranks())};
  return {};
}

}  // namespace troupe::workload
