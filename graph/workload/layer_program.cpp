#include "graph/workload/layer_program.hpp"

#include "graph/workload/expert_routing.hpp"

namespace troupe::workload {
namespace {

// Passes over memory of what is no matrix product: what it reads and writes.
constexpr double norm_forward = 2, norm_backward = 3, residual = 3, copy = 2;

work twice(work what) { return {2 * what.flops, 2 * what.bytes}; }

}  // namespace

std::uint64_t layer_program::hidden_bytes(std::uint64_t tokens) const {
  return tokens * options_.model.hidden * size_of(options_.model.type);
}

std::uint64_t layer_program::boundary_bytes() const { return hidden_bytes(options_.own_tokens()); }

std::uint32_t layer_program::collective(channel where, operation op, std::uint64_t bytes,
                                        element_type type, reduction reduce) {
  node call;
  call.kind = node_kind::collective;
  call.op = op;
  call.type = type;
  call.reduce = reduce;
  call.size = bytes;
  return to_.issue(where, std::move(call));
}

std::uint32_t layer_program::collective(channel where, operation op, std::uint64_t bytes) {
  return collective(where, op, bytes, options_.model.type,
                    reduces(op) ? reduction::sum : reduction::none);
}

// Each rank of tp gives its own tokens; what follows has all of them.
void layer_program::gather_sequence() {
  if (options_.splits_sequence())
    to_.await(collective(channel::tensor, operation::all_gather, boundary_bytes()));
}

// The partial sums of a row-split matrix's output, or of a column-split one's input gradient.
std::uint32_t layer_program::sum_over_tensor() {
  const auto op = options_.splits_sequence() ? operation::reduce_scatter : operation::all_reduce;
  return collective(channel::tensor, op, hidden_bytes(options_.tokens()));
}

void layer_program::block_forward(const split_block& block) {
  to_.run(costs_.over_hidden(norm_forward));
  gather_sequence();
  to_.run(block.column);
  to_.run(block.inner);
  to_.run(block.row);
  if (options_.layout.tp > 1) to_.await(sum_over_tensor());
  to_.run(costs_.over_hidden(residual));
}

// A column-split matrix: the gradient of its input is summed while that of its weights is made. Of
// a split sequence the input was not kept whole.
void layer_program::column_backward(work column) {
  const bool splits = options_.splits_sequence(), is_split = options_.layout.tp > 1;
  std::uint32_t input = 0, sum = 0;
  if (splits) input = collective(channel::tensor, operation::all_gather, boundary_bytes());
  to_.run(column);
  if (is_split) sum = sum_over_tensor();
  if (splits) to_.await(input);
  to_.run(column);
  if (is_split) to_.await(sum);
}

std::uint64_t layer_program::block_backward(const split_block& block) {
  gather_sequence();
  to_.run(twice(block.row));
  to_.run(twice(block.inner));
  column_backward(block.column);
  to_.run(costs_.over_hidden(norm_backward + residual));
  return block.parameters + costs_.norm_parameters();
}

void layer_program::layer_forward(std::uint64_t layer, std::uint64_t micro_batch) {
  enter(program_part::attention_forward);
  block_forward(costs_.attention());
  if (options_.model.is_moe(layer)) {
    enter(program_part::experts_forward);
    experts_forward(layer, micro_batch);
  } else {
    enter(program_part::feed_forward_forward);
    block_forward(costs_.feed_forward(layer));
  }
}

ready_gradients layer_program::second_block_backward(std::uint64_t layer,
                                                     std::uint64_t micro_batch) {
  if (options_.model.is_moe(layer)) {
    enter(program_part::experts_backward);
    return experts_backward(layer, micro_batch);
  }
  enter(program_part::feed_forward_backward);
  return {block_backward(costs_.feed_forward(layer)), 0};
}

ready_gradients layer_program::attention_backward() {
  enter(program_part::attention_backward);
  return {block_backward(costs_.attention()), 0};
}

std::uint64_t layer_program::dispatched_tokens() const {
  return options_.own_tokens() * options_.model.top_k;
}

std::uint64_t layer_program::received_tokens(std::uint64_t layer, std::uint64_t micro_batch) const {
  const auto& layout = options_.layout;
  return routed_tokens(dispatched_tokens(), layout.ep, layout.expert_of(rank_), options_.imbalance,
                       options_.seed,
                       {layout.replica_of_experts(rank_), layer, micro_batch, step_});
}

void layer_program::exchange_tokens(std::uint64_t given) {
  if (options_.layout.ep > 1)
    to_.await(collective(channel::expert, operation::all_to_all, hidden_bytes(given)));
}

// Ranks that share an expert bring their tokens together for it, and take their sums apart.
void layer_program::gather_tokens(std::uint64_t own) {
  if (options_.layout.expert_tp > 1)
    to_.await(collective(channel::expert_tensor, operation::all_gather, hidden_bytes(own)));
}

void layer_program::scatter_tokens(std::uint64_t own) {
  if (const auto ranks = options_.layout.expert_tp; ranks > 1)
    to_.await(
        collective(channel::expert_tensor, operation::reduce_scatter, hidden_bytes(own * ranks)));
}

void layer_program::experts_forward(std::uint64_t layer, std::uint64_t micro_batch) {
  const auto given = dispatched_tokens(), received = received_tokens(layer, micro_batch);
  const auto block = costs_.experts(received * options_.layout.expert_tp);
  to_.run(costs_.over_hidden(norm_forward));
  to_.run(costs_.router());
  to_.run(costs_.over_tokens(given, copy));
  exchange_tokens(given);
  gather_tokens(received);
  to_.run(block.column);
  to_.run(block.inner);
  to_.run(block.row);
  scatter_tokens(received);
  exchange_tokens(received);
  to_.run(costs_.over_tokens(given, copy));
  to_.run(costs_.over_hidden(residual));
}

ready_gradients layer_program::experts_backward(std::uint64_t layer, std::uint64_t micro_batch) {
  const auto given = dispatched_tokens(), received = received_tokens(layer, micro_batch);
  const auto block = costs_.experts(received * options_.layout.expert_tp);
  to_.run(costs_.over_tokens(given, copy));
  exchange_tokens(given);
  gather_tokens(received);
  to_.run(twice(block.row));
  to_.run(twice(block.inner));
  to_.run(twice(block.column));
  scatter_tokens(received);
  exchange_tokens(received);
  to_.run(costs_.over_tokens(given, copy));
  to_.run(twice(costs_.router()));
  to_.run(costs_.over_hidden(norm_backward + residual));
  return {costs_.router_parameters() + costs_.norm_parameters(), block.parameters};
}

void layer_program::embedding_forward() {
  enter(program_part::embedding_forward);
  to_.run(costs_.over_tokens(options_.tokens(), copy));
  if (options_.layout.tp > 1) to_.await(sum_over_tensor());
  if (costs_.position_parameters() > 0) to_.run(costs_.over_hidden(residual));
}

ready_gradients layer_program::embedding_backward() {
  enter(program_part::embedding_backward);
  gather_sequence();
  to_.run(costs_.over_tokens(options_.tokens(), copy));
  return {costs_.word_parameters() + costs_.position_parameters(), 0};
}

// Cross entropy of logits that are split over tp: the maximum, then two sums, a number a token each
// (Megatron-LM's vocab_parallel_cross_entropy).
void layer_program::loss_forward() {
  enter(program_part::loss_forward);
  to_.run(costs_.over_hidden(norm_forward));
  gather_sequence();
  to_.run(costs_.output_layer());
  to_.run(costs_.over_logits(1));
  const auto numbers = options_.tokens() * size_of(element_type::f32);
  const auto over_tensor = [&](reduction reduce) {
    return collective(channel::tensor, operation::all_reduce, numbers, element_type::f32, reduce);
  };
  const bool is_split = options_.layout.tp > 1;
  if (is_split) to_.await(over_tensor(reduction::max));
  to_.run(costs_.over_logits(2));
  if (!is_split) return;
  const auto predicted = over_tensor(reduction::sum);
  to_.await(over_tensor(reduction::sum));
  to_.await(predicted);
}

ready_gradients layer_program::loss_backward() {
  enter(program_part::loss_backward);
  to_.run(costs_.over_logits(2));
  column_backward(costs_.output_layer());
  to_.run(costs_.over_hidden(norm_backward));
  const bool has_own = !options_.model.tied_embeddings || options_.layout.pp > 1;
  return {costs_.norm_parameters() + (has_own ? costs_.word_parameters() : 0), 0};
}

}  // namespace troupe::workload
