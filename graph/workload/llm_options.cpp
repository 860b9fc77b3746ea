#include "graph/workload/llm_options.hpp"

#include <string>

#include "graph/workload/stage_layers.hpp"

namespace troupe::workload {
namespace {

constexpr double bytes_max = 9e15;                  // of a message; less than 2^53
constexpr double parameters_max = 1e18;             // of a model
constexpr std::uint64_t step_nodes_max = 1u << 23;  // of a rank; they are in memory at once
constexpr std::uint64_t nodes_a_layer = 32;         // at most, of a micro-batch

error unfit(const std::string& what) { return {errc::usage, what}; }
std::string text(std::uint64_t value) { return std::to_string(value); }

result<void> check_sizes(const llm_options& options) {
  const auto& model = options.model;
  const auto as_double = [](std::uint64_t value) { return static_cast<double>(value); };
  const auto matrices = as_double(model.hidden) * as_double(std::max(model.ffn, model.dense_ffn))
                        * 3 * as_double(std::max<std::uint64_t>(1, model.experts));
  const auto projections =
      4 * as_double(model.hidden) * as_double(model.heads) * as_double(model.size_of_head());
  const auto embeddings = 2 * as_double(model.hidden) * as_double(model.vocabulary)
                          + as_double(model.sequence) * as_double(model.hidden);
  if (as_double(model.layers) * (matrices + projections) + embeddings > parameters_max)
    return unfit("a model of more than 10^18 parameters");
  const auto tokens = as_double(options.micro_batch) * as_double(model.sequence);
  const auto copies = as_double(std::max<std::uint64_t>(1, model.top_k))
                      * as_double(options.layout.ep) * as_double(options.layout.expert_tp);
  if (tokens * copies * as_double(model.hidden) * size_of(model.type) > bytes_max)
    return unfit("micro-batch × sequence is " + std::to_string(tokens)
                 + " tokens: messages of more than 9 × 10^15 bytes");
  return {};
}

result<void> check_device(const llm_options& options) {
  if (options.device.is_of_16_bits && size_of(options.model.type) != 2)
    return unfit("device " + options.device.name + "'s peak is of bf16 and f16; for "
                 + to_string(options.model.type) + ", peak-flops must be given");
  return {};
}

result<void> check_tensor_parts(const llm_options& options) {
  const auto& model = options.model;
  const auto tp = options.layout.tp;
  if (model.heads % tp != 0)
    return unfit(text(model.heads) + " heads do not divide by tp " + text(tp));
  if (model.kv_heads % tp != 0 && tp % model.kv_heads != 0)
    return unfit(text(model.kv_heads) + " kv-heads and tp " + text(tp)
                 + ": expected one to divide the other");
  for (std::uint64_t layer = 0; layer < model.layers; ++layer) {
    const auto parts = model.is_moe(layer) ? options.layout.expert_tp : tp;
    if (model.ffn_of(layer) % parts != 0)
      return unfit("ffn " + text(model.ffn_of(layer)) + " does not divide by "
                   + (model.is_moe(layer) ? "expert-tp " : "tp ") + text(parts));
  }
  if (options.sequence_parallel && model.sequence * options.micro_batch % tp != 0)
    return unfit("micro-batch × sequence, " + text(options.micro_batch * model.sequence)
                 + " tokens, does not divide by tp " + text(tp)
                 + ", which sequence-parallel needs");
  return {};
}

result<void> check_without_experts(const llm_options& options) {
  const auto& layout = options.layout;
  if (options.model.experts > 0) return {};
  if (layout.ep > 1) return unfit("ep " + text(layout.ep) + " of a model without experts");
  if (layout.expert_tp != layout.tp) return unfit("expert-tp of a model without experts");
  if (options.imbalance != 1) return unfit("imbalance of a model without experts");
  return {};
}

result<void> check_experts(const llm_options& options) {
  const auto& model = options.model;
  const auto& layout = options.layout;
  if (model.experts == 0) return {};
  if (model.experts % layout.ep != 0)
    return unfit(text(model.experts) + " experts do not divide by ep " + text(layout.ep));
  if (layout.tp > 1 && !options.sequence_parallel)
    return unfit("experts with tp " + text(layout.tp)
                 + " need sequence-parallel, so that no token is dispatched twice");
  if (layout.expert_tp > layout.tp || layout.tp % layout.expert_tp != 0)
    return unfit("expert-tp " + text(layout.expert_tp) + " does not divide tp " + text(layout.tp));
  if (options.imbalance < 1 || options.imbalance > static_cast<double>(layout.ep))
    return unfit("imbalance: expected 1 to ep, " + text(layout.ep));
  return {};
}

result<void> check_nodes(const llm_options& options) {
  TROUPE_TRY(layers, stage_layers::spread(options.model.layers, options.layout.pp,
                                          options.virtual_stages, options.layers_per_stage));
  for (std::uint64_t stage = 0; stage < options.layout.pp; ++stage) {
    const auto parts = layers.count_of(stage) + options.virtual_stages;
    if (parts > step_nodes_max / nodes_a_layer / options.micro_batches)
      return unfit("a step of more than " + text(step_nodes_max)
                   + " nodes a rank: " + text(options.micro_batches) + " micro-batches through "
                   + text(layers.count_of(stage)) + " layers");
  }
  return {};
}

}  // namespace

result<void> check(const llm_options& options) {
  if (auto fits = check(options.model); !fits) return fits;
  if (auto fits = check_without_experts(options); !fits) return fits;
  if (auto fits = check(options.layout); !fits) return fits;
  if (auto fits = check(options.pipeline()); !fits) return fits;
  if (auto fits = check_sizes(options); !fits) return fits;
  if (auto fits = check_device(options); !fits) return fits;
  if (auto fits = check_tensor_parts(options); !fits) return fits;
  if (auto fits = check_experts(options); !fits) return fits;
  return check_nodes(options);
}

}  // namespace troupe::workload
