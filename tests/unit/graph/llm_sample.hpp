// llm_sample: small models to generate steps of, and a step as a graph in memory.
#pragma once

#include <catch2/catch.hpp>

#include "graph/workload/llm_step.hpp"

namespace troupe::workload {

inline model_description small_model(std::uint64_t layers = 8) {
  model_description model;
  model.name = "small";
  model.layers = layers;
  model.hidden = 64;
  model.ffn = 96;
  model.heads = 8;
  model.kv_heads = 4;
  model.vocabulary = 100;
  model.sequence = 32;
  return model;
}

inline model_description small_moe(std::uint64_t layers = 8) {
  auto model = small_model(layers);
  model.experts = 8;
  model.top_k = 2;
  return model;
}

inline llm_options options_of(model_description model, parallel_layout layout) {
  llm_options options;
  options.model = std::move(model);
  options.device = *known_device("h100");
  options.layout = layout;
  options.micro_batches = 4;
  if (options.layout.expert_tp == 1 && options.model.experts == 0) options.layout.expert_tp = 0;
  return options;
}

struct generated {
  execution_graph graph;
  llm_summary summary;
};

inline generated generate(const llm_options& options) {
  auto step = llm_step::plan(options);
  INFO((step ? "" : step.error().context));
  REQUIRE(step);
  generated all;
  all.graph.world = step->world();
  all.graph.ranks.resize(step->world());
  all.graph.communicators = step->communicators();
  all.graph.call_sites = step_call_sites();
  auto summary = step->generate([&](rank_id rank, std::span<const node> nodes) -> result<void> {
    auto& own = all.graph.ranks[rank.value];
    own.insert(own.end(), nodes.begin(), nodes.end());
    return {};
  });
  REQUIRE(summary);
  all.summary = *summary;
  return all;
}

inline std::string refusal(const llm_options& options) {
  auto step = llm_step::plan(options);
  if (step) return "";
  CHECK(step.error().code == errc::usage);
  return step.error().context;
}

}  // namespace troupe::workload
