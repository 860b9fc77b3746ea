#include "graph/goal/trace_expansion.hpp"

#include <algorithm>
#include <limits>

#include "graph/goal/node_expansion.hpp"

namespace troupe::goal {

result<expanded_trace> expand_trace(prism_trace_reader& trace,
                                    const trace_expansion_options& options) {
  const auto together = std::max(options.gpus_per_node, 1u);
  TROUPE_TRY(plan, communication_plan::make(trace, together, options.how));
  constexpr std::uint32_t cpus_max = std::numeric_limits<std::uint16_t>::max();
  if (std::uint64_t{together} * (plan.streams() + 1) > cpus_max)
    return error{errc::no_resources, "a node of " + std::to_string(together) + " GPUs with "
                                         + std::to_string(plan.streams())
                                         + " streams each, expected at most "
                                         + std::to_string(cpus_max) + " streams in all"};
  expanded_trace made;
  schedule_builder builder;
  std::uint32_t first = 0;
  made.places.resize(trace.world());
  const auto order = plan.order();
  for (std::uint32_t next = 0; next < order.size();) {
    if (options.go_on && !options.go_on()) return error{errc::interrupted, "stopped"};
    builder.begin_rank();
    node_expansion node(plan, trace.communicators(), options, next / together, first, builder,
                        made.algorithms);
    for (std::uint32_t seat = 0; seat < together && next < order.size(); ++seat, ++next) {
      const rank_id rank{order[next]};
      TROUPE_TRY(nodes, trace.load(rank));
      TROUPE_TRY(places, node.add(rank, seat, nodes));
      made.places[rank.value] = std::move(places);
    }
    if (auto whole = node.end(); !whole) return whole.error();
    const auto size = builder.rank_size();
    if (auto ended = builder.end_rank(); !ended) return ended.error();
    first += size;
  }
  made.made = builder.finish();
  return made;
}

}  // namespace troupe::goal
