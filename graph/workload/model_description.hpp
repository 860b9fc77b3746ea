// model_description: a decoder-only transformer, as far as its training step goes: sizes and
// parameters.
//
// What is built in has the figures of the papers named in the .cpp. Not here: how it is spread
// over ranks (parallel_layout.hpp, stage_layers.hpp); what a layer costs (layer_costs.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "messages/collective.hpp"
#include "messages/error.hpp"

namespace troupe::workload {

struct model_description {
  std::string name;
  std::uint64_t layers{}, hidden{};
  std::uint64_t ffn{};  ///< inner size of the feed-forward block; of an expert in a MoE layer
  std::uint64_t heads{};
  std::uint64_t kv_heads{};   ///< less than heads: grouped queries
  std::uint64_t head_size{};  ///< 0: hidden / heads
  std::uint64_t vocabulary{}, sequence{};
  bool gated = true;               ///< three matrices a feed-forward block (SwiGLU), else two
  bool biases = false;             ///< linear layers have biases, norms too (LayerNorm)
  bool tied_embeddings = false;    ///< the output layer is the word embedding
  bool learned_positions = false;  ///< an embedding of each position
  std::uint64_t experts = 0;       ///< 0: no layer is a MoE layer
  std::uint64_t top_k = 0;         ///< experts a token goes to
  std::uint64_t moe_first = 0, moe_every = 1;  ///< MoE layers: moe_first, moe_first + moe_every, …
  std::uint64_t dense_ffn = 0;                 ///< of the layers that are no MoE layers; 0: ffn
  element_type type = element_type::bf16;      ///< of parameters and activations

  bool is_moe(std::uint64_t layer) const {
    return experts > 0 && layer >= moe_first && (layer - moe_first) % moe_every == 0;
  }
  std::uint64_t size_of_head() const { return head_size > 0 ? head_size : hidden / heads; }
  std::uint64_t ffn_of(std::uint64_t layer) const {
    return is_moe(layer) || dense_ffn == 0 ? ffn : dense_ffn;
  }
};

/// Parameters by what they are of; a whole model's layers are added up.
struct parameter_count {
  std::uint64_t embedding{};  ///< words and positions
  std::uint64_t head{};       ///< the output layer, 0 where it is the embedding
  std::uint64_t attention{}, dense{}, router{}, experts{}, norms{};
  std::uint64_t total() const {
    return embedding + head + attention + dense + router + experts + norms;
  }
};
parameter_count parameters(const model_description& model);
/// Those that work on a token: of the experts, top_k each MoE layer.
std::uint64_t active_parameters(const model_description& model);

/// errc::usage says what does not fit together.
result<void> check(const model_description& model);

/// Ascending by name.
const std::vector<model_description>& known_models();
/// errc::usage names those there are.
result<model_description> known_model(const std::string& name);

}  // namespace troupe::workload
