// llm_options: what a generated training step is made of.
//
// Not here: these as text, of the command line or a file (llm_settings.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "graph/workload/device_description.hpp"
#include "graph/workload/model_description.hpp"
#include "graph/workload/parallel_layout.hpp"
#include "graph/workload/pipeline_schedule.hpp"

namespace troupe::workload {

struct llm_options {
  model_description model;  ///< kv_heads 0: heads
  device_description device;
  parallel_layout layout{.expert_tp = 0};  ///< expert_tp 0: tp
  schedule_kind schedule = schedule_kind::one_forward_one_backward;
  std::uint64_t virtual_stages = 1;             ///< chunks of a stage
  std::vector<std::uint64_t> layers_per_stage;  ///< of each virtual stage; empty: evenly
  std::uint64_t micro_batch = 1;                ///< sequences
  std::uint64_t micro_batches = 8;              ///< of each data-parallel rank, each step
  std::uint64_t steps = 1;
  bool sequence_parallel = false;  ///< reduce_scatter and all_gather instead of tp's all_reduce; of
                                   ///< tp 1 nothing
  bool shard_optimizer = false;  ///< ZeRO-1: reduce_scatter of gradients, all_gather of parameters
  element_type gradient_type = element_type::f32;
  std::uint64_t bucket_bytes = 160'000'000;  ///< of gradients; Megatron-LM: 40 million of 4 bytes
  double imbalance = 1;    ///< tokens of the fullest ep rank, in parts of the mean
  std::uint64_t seed = 1;  ///< of which ep rank that is

  bool splits_sequence() const { return sequence_parallel && layout.tp > 1; }
  std::uint64_t tokens() const { return micro_batch * model.sequence; }  ///< of a micro-batch
  /// Of a micro-batch, where a rank of tp has its own: in norms, routers and between stages.
  std::uint64_t own_tokens() const { return splits_sequence() ? tokens() / layout.tp : tokens(); }
  pipeline_shape pipeline() const { return {schedule, layout.pp, virtual_stages, micro_batches}; }
};

/// errc::usage: what does not fit together, of the model, the layout or the schedule.
result<void> check(const llm_options& options);

}  // namespace troupe::workload
