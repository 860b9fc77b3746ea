// layer_costs: what one rank computes for a micro-batch, kernel by kernel, and the parameters it
// has, after its tensor- and expert-parallel parts.
//
// A matrix product of m × k by k × n is 2mkn operations and touches its three matrices once.
// Attention is causal and keeps no scores (Dao et al., "FlashAttention", 2022): half of the 4 ·
// tokens · sequence · width operations. Everything else costs its bytes. Backward, a product has
// two of its size, attention twice its operations. Words and the output layer are padded to a
// multiple of tp. Not here: when a kernel runs (step_program.cpp).
#pragma once

#include <cstdint>

#include "graph/workload/llm_options.hpp"

namespace troupe::workload {

/// A block that tensor parallelism splits: first matrix by columns, last by rows.
struct split_block {
  work column, inner, row;
  std::uint64_t parameters{};  ///< of this rank, without the norm before it
};

class layer_costs {
 public:
  explicit layer_costs(const llm_options& options);

  split_block attention() const;
  split_block feed_forward(std::uint64_t layer) const;  ///< of a layer that is no MoE layer
  /// This rank's experts, on so many tokens (each counted once for each of its experts).
  split_block experts(std::uint64_t tokens) const;
  work router() const;
  work output_layer() const;
  /// `passes` over what norms see: a micro-batch's own tokens × hidden.
  work over_hidden(double passes) const;
  work over_tokens(std::uint64_t tokens, double passes) const;  ///< × hidden
  work over_logits(double passes) const;
  /// Adam (Kingma, Ba 2014) in f32, with a copy of the parameters where they are smaller.
  work optimizer(std::uint64_t parameters) const;
  work over_gradients(std::uint64_t parameters) const;

  std::uint64_t norm_parameters() const { return hidden_ * (model_.biases ? 2 : 1); }
  std::uint64_t router_parameters() const { return hidden_ * model_.experts; }
  std::uint64_t word_parameters() const { return words_ * hidden_; }
  std::uint64_t position_parameters() const {
    return model_.learned_positions ? model_.sequence * hidden_ : 0;
  }

 private:
  work product(std::uint64_t m, std::uint64_t k, std::uint64_t n, std::uint64_t weights) const;
  split_block forward_block(std::uint64_t tokens, std::uint64_t ffn, std::uint64_t experts) const;

  model_description model_;
  std::uint64_t tp_, expert_tp_, ep_;
  std::uint64_t hidden_, tokens_, own_tokens_, words_;
  double size_, gradient_size_;  // bytes of an element
};

}  // namespace troupe::workload
