#include "graph/graph_summary.hpp"

#include <algorithm>
#include <map>

#include "graph/collective_traffic.hpp"
#include "graph/saturating.hpp"
#include "graph/structural_digest.hpp"
#include "messages/assert.hpp"

namespace troupe {
namespace {

class summary_builder {
 public:
  summary_builder(std::uint32_t world, graph_stage stage,
                  std::span<const communicator_entry> communicators)
      : communicators_(communicators),
        digests_(world),
        made_{world, stage,
              0,     0,
              {},    std::vector<rank_summary>(world),
              0,     traffic_matrix(world, communicators)} {}

  // `times` nodes of this shape.
  void add_shape(rank_id rank, const node& shape, std::uint64_t times) {
    auto& part = made_.ranks[rank.value];
    part.nodes += times;
    part.edges = saturating_add(part.edges, saturating_multiply(times, shape.after.size()));
    if (!communicates(shape.kind)) return;
    auto& total = made_.operations[static_cast<std::size_t>(shape.op)];
    total.count += times;
    total.bytes = saturating_add(total.bytes, saturating_multiply(shape.size, times));
    add_traffic(made_.traffic, shape, communicators_[shape.communicator],
                group_rank(rank, shape.communicator), times);
  }

  std::uint64_t digest_of(const node& shape) const {
    return shape_digest(shape, communicates(shape.kind) ? communicators_[shape.communicator].id
                                                        : communicator_id{});
  }

  void add_node(rank_id rank, node_kind kind, std::uint64_t shape_digest, std::uint64_t sequence,
                std::uint64_t duration_ns) {
    auto& part = made_.ranks[rank.value];
    digests_[rank.value].add(shape_digest, sequence);
    if (kind == node_kind::compute) part.compute_ns = saturating_add(part.compute_ns, duration_ns);
    if (communicates(kind))
      part.communication_ns = saturating_add(part.communication_ns, duration_ns);
  }

  graph_summary finish() {
    for (std::size_t rank = 0; rank < digests_.size(); ++rank) {
      made_.ranks[rank].digest = digests_[rank].value();
      made_.nodes += made_.ranks[rank].nodes;
      made_.edges = saturating_add(made_.edges, made_.ranks[rank].edges);
    }
    made_.digest = world_digest(digests_);
    return std::move(made_);
  }

 private:
  std::uint32_t group_rank(rank_id rank, std::uint32_t communicator) {
    if (rank != latest_) group_ranks_.clear();
    latest_ = rank;
    auto [known, is_new] = group_ranks_.try_emplace(communicator);
    if (is_new) {
      const auto& members = communicators_[communicator].members;
      const auto found = std::find(members.begin(), members.end(), rank);
      TROUPE_ASSERT(found != members.end(), rank.value, communicator);
      known->second = static_cast<std::uint32_t>(found - members.begin());
    }
    return known->second;
  }

  std::span<const communicator_entry> communicators_;
  std::vector<rank_digest> digests_;
  graph_summary made_;
  rank_id latest_{};
  std::map<std::uint32_t, std::uint32_t> group_ranks_;  // of the latest rank
};

}  // namespace

result<graph_summary> summarize(prism_trace_reader& trace) {
  summary_builder builder(trace.world(), trace.stage(), trace.communicators());
  std::vector<std::uint64_t> times, digests;
  auto scanned = trace.scan([&](const node_columns& columns) -> result<void> {
    times.assign(columns.shapes.size(), 0);
    digests.clear();
    for (const auto& shape : columns.shapes) digests.push_back(builder.digest_of(shape));
    for (std::uint32_t i = 0; i < columns.count; ++i) {
      const auto shape = columns.shape[i];
      ++times[shape];
      builder.add_node(columns.rank, columns.shapes[shape].kind, digests[shape],
                       columns.sequence[i], columns.duration_ns[i]);
    }
    for (std::size_t shape = 0; shape < times.size(); ++shape)
      builder.add_shape(columns.rank, columns.shapes[shape], times[shape]);
    return {};
  });
  if (!scanned) return scanned.error();
  return builder.finish();
}

graph_summary summarize(const execution_graph& graph) {
  summary_builder builder(graph.world, graph.stage, graph.communicators);
  for (std::uint32_t rank = 0; rank < graph.ranks.size(); ++rank)
    for (const auto& what : graph.ranks[rank]) {
      builder.add_shape({rank}, what, 1);
      builder.add_node({rank}, what.kind, builder.digest_of(what), what.sequence, what.duration_ns);
    }
  return builder.finish();
}

}  // namespace troupe
