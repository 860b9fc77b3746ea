// llm_step: training steps of a language model as an execution graph, rank by rank.
//
// Ranks of one pipeline stage have the same nodes but for their communicators: a stage's program is
// made once (with uneven routing, once a rank and step), so that memory is one rank's step. Compute
// nodes have a roofline's durations (device_description.hpp), communication has none: how long it
// takes is a network's business. Not here: files.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/execution_graph.hpp"
#include "graph/workload/llm_options.hpp"
#include "graph/workload/rank_channels.hpp"
#include "graph/workload/stage_layers.hpp"
#include "graph/workload/step_program.hpp"
#include "messages/error.hpp"

namespace troupe::workload {

/// Of a rank of a pipeline stage: the stage's first.
struct stage_summary {
  std::uint64_t layers{};
  std::uint64_t parameters{};  ///< of a rank
  std::uint64_t compute_ns{};  ///< of a rank, a step
};

struct llm_summary {
  std::uint64_t nodes{};  ///< of all ranks and steps
  double flops{};         ///< of all ranks, a step
  std::vector<stage_summary> stages;
};

class llm_step {
 public:
  /// errc::usage: what does not fit together (llm_options.hpp).
  static result<llm_step> plan(llm_options options);

  std::uint32_t world() const { return static_cast<std::uint32_t>(options_.layout.world()); }
  const llm_options& options() const { return options_; }
  const std::vector<communicator_entry>& communicators() const { return channels_.communicators(); }
  /// Of a step, over all data-parallel ranks.
  std::uint64_t tokens() const {
    return options_.tokens() * options_.micro_batches * options_.layout.dp;
  }

  /// Called with each rank's nodes, in order, in several runs each; ranks ascend. Its error ends
  /// it.
  using sink = std::function<result<void>(rank_id, std::span<const node>)>;
  result<llm_summary> generate(const sink& take) const;

 private:
  llm_step(llm_options options, stage_layers layers)
      : options_(std::move(options)), layers_(std::move(layers)), channels_(options_) {}

  bool is_uneven() const { return options_.imbalance != 1; }

  llm_options options_;
  stage_layers layers_;
  rank_channels channels_;
};

}  // namespace troupe::workload
