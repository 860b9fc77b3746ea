// layer_program: what a rank does for the parts of a model, forward and backward, as nodes.
//
// Not here: in which order micro-batches go through them, and what becomes of gradients
// (step_program.cpp).
#pragma once

#include <cstdint>

#include "graph/workload/layer_costs.hpp"
#include "graph/workload/llm_options.hpp"
#include "graph/workload/node_emitter.hpp"

namespace troupe::workload {

/// A place in the program, as nodes name it.
enum class program_part : std::uint32_t {
  none,
  embedding_forward,
  attention_forward,
  feed_forward_forward,
  experts_forward,
  loss_forward,
  loss_backward,
  experts_backward,
  feed_forward_backward,
  attention_backward,
  embedding_backward,
  gradients,
  optimizer
};

/// Parameters of this rank whose gradients a backward has made.
struct ready_gradients {
  std::uint64_t dense{}, experts{};
};

class layer_program {
 public:
  /// `step`, `rank`: of whom the experts' draws are.
  layer_program(const llm_options& options, std::uint64_t rank, std::uint64_t step,
                node_emitter& to)
      : options_(options), costs_(options), rank_(rank), step_(step), to_(to) {}

  void embedding_forward();
  void loss_forward();
  void layer_forward(std::uint64_t layer, std::uint64_t micro_batch);
  /// Its feed-forward (or expert) block, then its attention block.
  ready_gradients second_block_backward(std::uint64_t layer, std::uint64_t micro_batch);
  ready_gradients attention_backward();
  ready_gradients loss_backward();
  ready_gradients embedding_backward();

  const layer_costs& costs() const { return costs_; }
  /// Bytes of what goes from stage to stage.
  std::uint64_t boundary_bytes() const;

 private:
  void enter(program_part part) { to_.enter(static_cast<std::uint32_t>(part)); }
  std::uint32_t collective(channel where, operation op, std::uint64_t bytes);
  std::uint32_t collective(channel where, operation op, std::uint64_t bytes, element_type type,
                           reduction reduce);
  void gather_sequence();
  std::uint32_t sum_over_tensor();
  std::uint64_t hidden_bytes(std::uint64_t tokens) const;
  void block_forward(const split_block& block);
  std::uint64_t block_backward(const split_block& block);
  void column_backward(work column);
  void experts_forward(std::uint64_t layer, std::uint64_t micro_batch);
  ready_gradients experts_backward(std::uint64_t layer, std::uint64_t micro_batch);
  std::uint64_t dispatched_tokens() const;
  std::uint64_t received_tokens(std::uint64_t layer, std::uint64_t micro_batch) const;
  void exchange_tokens(std::uint64_t given);
  void gather_tokens(std::uint64_t own);
  void scatter_tokens(std::uint64_t own);

  const llm_options& options_;
  layer_costs costs_;
  std::uint64_t rank_, step_;
  node_emitter& to_;
};

}  // namespace troupe::workload
