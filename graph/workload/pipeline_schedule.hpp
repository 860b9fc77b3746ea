// pipeline_schedule: in which order a pipeline stage goes through micro-batches.
//
// 1F1B: Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training" (2021). Interleaved:
// Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
// Megatron-LM" (2021), section 2.2. Invariant: every stage's order of forward steps of a chunk is
// that of micro-batches, and so is that of backward steps, so messages between two stages come in
// the order in which they are awaited. Not here: what a step does (step_program.cpp).
#pragma once

#include <cstdint>
#include <vector>

#include "messages/error.hpp"

namespace troupe::workload {

enum class schedule_kind : std::uint8_t { one_forward_one_backward, interleaved };
const char* to_string(schedule_kind kind);  ///< "1f1b", "interleaved"

struct pipeline_step {
  bool is_forward{};
  std::uint64_t micro_batch{}, chunk{};
  friend bool operator==(const pipeline_step&, const pipeline_step&) = default;
};

struct pipeline_shape {
  schedule_kind kind{};
  std::uint64_t stages = 1;
  std::uint64_t chunks = 1;  ///< of a stage; 1 unless interleaved
  std::uint64_t micro_batches = 1;
};

/// errc::usage: what the schedule needs.
result<void> check(const pipeline_shape& shape);
/// How many forward steps a stage makes before its first backward one.
std::uint64_t warm_up_steps(const pipeline_shape& shape, std::uint64_t stage);
/// 2 · micro_batches · chunks steps. The shape was checked.
std::vector<pipeline_step> pipeline_steps(const pipeline_shape& shape, std::uint64_t stage);

}  // namespace troupe::workload
