#include "graph/workload/llm_step.hpp"

namespace troupe::workload {
namespace {

node marker(marker_kind what) {
  node all;
  all.kind = node_kind::marker;
  all.marker = what;
  return all;
}

// A program whose nodes can be made a rank's, step after step, in place.
class bound_program {
 public:
  void reset(step_program program) {
    program_ = std::move(program);
    channels_.clear();
    sequences_.clear();
    for (const auto& each : program_.nodes) {
      channels_.push_back(static_cast<channel>(each.communicator));
      sequences_.push_back(each.sequence);
    }
  }
  const step_program& program() const { return program_; }
  std::span<const node> bind(const rank_channels& channels, std::uint64_t rank,
                             std::uint64_t step) {
    std::array<std::uint32_t, channel_count> index{};
    for (std::size_t each = 0; each < index.size(); ++each)
      if (program_.calls[each] > 0)
        index[each] = channels.communicator(static_cast<channel>(each), rank);
    for (std::size_t i = 0; i < channels_.size(); ++i) {
      auto& each = program_.nodes[i];
      if (!communicates(each.kind)) continue;
      const auto where = static_cast<std::size_t>(channels_[i]);
      each.communicator = index[where];
      each.sequence = sequences_[i] + step * program_.calls[where];
    }
    return program_.nodes;
  }

 private:
  step_program program_;
  std::vector<channel> channels_;
  std::vector<std::uint64_t> sequences_;
};

}  // namespace

result<llm_step> llm_step::plan(llm_options options) {
  if (options.model.kv_heads == 0) options.model.kv_heads = options.model.heads;
  if (options.layout.expert_tp == 0) options.layout.expert_tp = options.layout.tp;
  if (auto fits = check(options); !fits) return fits.error();
  TROUPE_TRY(layers, stage_layers::spread(options.model.layers, options.layout.pp,
                                          options.virtual_stages, options.layers_per_stage));
  return llm_step{std::move(options), std::move(layers)};
}

result<llm_summary> llm_step::generate(const sink& take) const {
  llm_summary all;
  const auto start = marker(marker_kind::start), end = marker(marker_kind::end);
  bound_program bound;
  for (std::uint64_t rank = 0; rank < world(); ++rank) {
    const rank_id id{static_cast<std::uint32_t>(rank)};
    const bool opens_stage = rank % options_.layout.stage_ranks() == 0;
    if (auto taken = take(id, {&start, 1}); !taken) return taken.error();
    for (std::uint64_t step = 0; step < options_.steps; ++step) {
      if (is_uneven() || (opens_stage && step == 0))
        bound.reset(make_step_program(options_, layers_, channels_, {rank, step}));
      const auto nodes = bound.bind(channels_, rank, step);
      if (auto taken = take(id, nodes); !taken) return taken.error();
      all.nodes += nodes.size();
      if (step == 0) all.flops += bound.program().flops;
    }
    if (auto taken = take(id, {&end, 1}); !taken) return taken.error();
    all.nodes += 2;
    if (opens_stage)
      all.stages.push_back({layers_.count_of(options_.layout.stage_of(rank)),
                            bound.program().parameters, bound.program().compute_ns});
  }
  return all;
}

}  // namespace troupe::workload
