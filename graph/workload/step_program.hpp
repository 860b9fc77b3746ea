// step_program: the nodes of one training step, of the ranks of one pipeline stage.
//
// Forward and backward of layers as Megatron-LM has them: Shoeybi et al., "Megatron-LM" (2019) for
// tensor parallelism; Korthikanti et al., "Reducing Activation Recomputation in Large Transformer
// Models" (2022) for sequence parallelism, whose backward gathers inputs anew; Lepikhin et al.,
// "GShard" (2020) for experts; Rajbhandari et al., "ZeRO" (2019), stage 1. Gradients of a
// column-split matrix's input are reduced while those of its weights are computed. A recv is posted
// one step before the one that needs it; nothing waits for a send. Gradients are reduced in buckets
// from the last micro-batch's backward on, and awaited at its end. Then: norms' gradients of tp,
// tied embeddings' gradients, the marker backward_end, the norm of all gradients, the optimizer.
// Not here: recomputation of activations, dropout, counts of tokens that experts exchange before
// the tokens (a few bytes), parameters gathered during the next forward.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/execution_graph.hpp"
#include "graph/workload/llm_options.hpp"
#include "graph/workload/rank_channels.hpp"
#include "graph/workload/stage_layers.hpp"

namespace troupe::workload {

struct step_program {
  std::vector<node> nodes;  ///< communicator: a channel; sequence: within the step, from 1
  std::array<std::uint64_t, channel_count> calls{};  ///< of each channel
  double flops{};
  std::uint64_t compute_ns{};
  std::uint64_t parameters{};  ///< of a rank
};

/// Where the program is for: with even routing the place and the step change nothing.
struct program_place {
  std::uint64_t rank{};
  std::uint64_t step{};
};

step_program make_step_program(const llm_options& options, const stage_layers& layers,
                               const rank_channels& channels, const program_place& place);

/// The call sites that nodes name; [0] is "".
const std::vector<std::string>& step_call_sites();

}  // namespace troupe::workload
