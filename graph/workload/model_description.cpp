#include "graph/workload/model_description.hpp"

namespace troupe::workload {
namespace {

error unfit(const std::string& what) { return {errc::usage, what}; }

// GPT-2: Radford et al. 2019 (table 2; 1.5 B). GPT-3: Brown et al. 2020 (table 2.1). Llama: Touvron
// et al. 2023 (table 2; 4,096 positions and 70B's grouped queries: Llama 2, table 1 and A.2.1).
// Llama 3: Grattafiori et al. 2024 (table 3). Megatron's trillion: Narayanan et al. 2021 (table 1).
// Mixtral: Jiang et al. 2024 (table 1; 8x22B: Mistral's announcement of April 2024).
std::vector<model_description> built_in() {
  std::vector<model_description> all;
  const auto add = [&](const char* name, std::uint64_t layers, std::uint64_t hidden,
                       std::uint64_t ffn, std::uint64_t heads, std::uint64_t kv_heads,
                       std::uint64_t vocabulary, std::uint64_t sequence) -> model_description& {
    model_description model;
    model.name = name;
    model.layers = layers;
    model.hidden = hidden;
    model.ffn = ffn;
    model.heads = heads;
    model.kv_heads = kv_heads;
    model.vocabulary = vocabulary;
    model.sequence = sequence;
    return all.emplace_back(std::move(model));
  };
  const auto as_gpt = [](model_description& model) {
    model.gated = false;
    model.biases = model.tied_embeddings = model.learned_positions = true;
  };
  const auto with_experts = [](model_description& model) {
    model.experts = 8;
    model.top_k = 2;
  };
  as_gpt(add("gpt2-xl", 48, 1600, 6400, 25, 25, 50257, 1024));
  as_gpt(add("gpt3-175b", 96, 12288, 49152, 96, 96, 50257, 2048));
  add("llama-70b", 80, 8192, 28672, 64, 8, 32000, 4096);
  add("llama-7b", 32, 4096, 11008, 32, 32, 32000, 4096);
  add("llama3-405b", 126, 16384, 53248, 128, 8, 128256, 8192);
  add("llama3-70b", 80, 8192, 28672, 64, 8, 128256, 8192);
  add("llama3-8b", 32, 4096, 14336, 32, 8, 128256, 8192);
  as_gpt(add("megatron-1t", 128, 25600, 102400, 160, 160, 51200, 2048));
  with_experts(add("mixtral-8x22b", 56, 6144, 16384, 48, 8, 32768, 32768));
  with_experts(add("mixtral-8x7b", 32, 4096, 14336, 32, 8, 32000, 32768));
  return all;
}

}  // namespace

parameter_count parameters(const model_description& model) {
  const auto h = model.hidden, bias = std::uint64_t{model.biases};
  const auto queries = model.heads * model.size_of_head();
  const auto keys = model.kv_heads * model.size_of_head();
  parameter_count all;
  all.embedding = model.vocabulary * h + (model.learned_positions ? model.sequence * h : 0);
  all.head = model.tied_embeddings ? 0 : model.vocabulary * h;
  all.attention =
      model.layers * (h * (queries + 2 * keys) + queries * h + bias * (queries + 2 * keys + h));
  all.norms = (2 * model.layers + 1) * h * (1 + bias);
  for (std::uint64_t layer = 0; layer < model.layers; ++layer) {
    const auto f = model.ffn_of(layer), inner = f * (model.gated ? 2 : 1);
    const auto block = h * inner + f * h + bias * (inner + h);
    if (model.is_moe(layer)) {
      all.experts += model.experts * block;
      all.router += h * model.experts;
    } else {
      all.dense += block;
    }
  }
  return all;
}

std::uint64_t active_parameters(const model_description& model) {
  auto all = parameters(model);
  if (model.experts > 0) all.experts = all.experts / model.experts * model.top_k;
  return all.total();
}

result<void> check(const model_description& model) {
  for (const auto& [name, value] :
       {std::pair{"layers", model.layers}, std::pair{"hidden", model.hidden},
        std::pair{"ffn", model.ffn}, std::pair{"heads", model.heads},
        std::pair{"kv-heads", model.kv_heads}, std::pair{"vocabulary", model.vocabulary},
        std::pair{"sequence", model.sequence}})
    if (value == 0) return unfit(std::string(name) + ": the model needs one, above 0");
  const auto number = [](std::uint64_t value) { return std::to_string(value); };
  if (model.head_size == 0 && model.hidden % model.heads != 0)
    return unfit("hidden " + number(model.hidden) + " does not divide into " + number(model.heads)
                 + " heads; head-size says how large they are");
  if (model.heads % model.kv_heads != 0)
    return unfit(number(model.heads) + " heads do not divide into " + number(model.kv_heads)
                 + " kv-heads");
  if (model.experts > 0 && (model.top_k == 0 || model.top_k > model.experts))
    return unfit("top-k " + number(model.top_k) + ": expected 1 to the experts, "
                 + number(model.experts));
  if (model.experts == 0 && model.top_k > 0)
    return unfit("top-k " + number(model.top_k) + " of a model without experts");
  if (model.experts > 0 && model.moe_first >= model.layers)
    return unfit("moe-first " + number(model.moe_first) + " is beyond the last layer, "
                 + number(model.layers - 1));
  return {};
}

const std::vector<model_description>& known_models() {
  static const auto all = built_in();
  return all;
}

result<model_description> known_model(const std::string& name) {
  std::string names;
  for (const auto& model : known_models()) {
    if (model.name == name) return model;
    names += (names.empty() ? "" : ", ") + model.name;
  }
  return unfit("there is no built-in model " + name + "; there are " + names);
}

}  // namespace troupe::workload
