#include "graph/workload/model_description.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/graph/llm_sample.hpp"

namespace troupe::workload {
namespace {

// As the papers or the published weights have them.
TEST_CASE("built-in models have their public numbers of parameters within one per cent") {
  const std::vector<std::pair<const char*, double>> published = {
      {"gpt2-xl", 1.5576e9},     {"gpt3-175b", 175.0e9},    {"llama-70b", 68.98e9},
      {"llama-7b", 6.738e9},     {"llama3-405b", 405.85e9}, {"llama3-70b", 70.55e9},
      {"llama3-8b", 8.030e9},    {"megatron-1t", 1008e9},   {"mixtral-8x22b", 140.63e9},
      {"mixtral-8x7b", 46.70e9},
  };
  REQUIRE(published.size() == known_models().size());
  for (const auto& [name, count] : published) {
    const auto model = *known_model(name);
    INFO(name << " " << parameters(model).total());
    CHECK(static_cast<double>(parameters(model).total()) == Approx(count).epsilon(0.01));
    CHECK(check(model));
  }
  CHECK(static_cast<double>(active_parameters(*known_model("mixtral-8x7b")))
        == Approx(12.88e9).epsilon(0.01));
  CHECK(known_model("gpt5").error().context.find("llama-7b, llama3-405b") != std::string::npos);
}

TEST_CASE("parameters are those counted by hand") {
  auto model = small_model(3);  // hidden 64, ffn 96, 8 heads of 8, 4 kv, 100 words
  const std::uint64_t attention = 64 * 64 + 2 * 64 * 32 + 64 * 64, block = 3 * 64 * 96;
  CHECK(parameters(model).total() == 3 * (attention + block + 2 * 64) + 64 + 2 * 100 * 64);
  model.tied_embeddings = true;
  CHECK(parameters(model).total() == 3 * (attention + block + 2 * 64) + 64 + 100 * 64);
  model.gated = false;
  model.biases = model.learned_positions = true;
  const std::uint64_t with_biases =
      attention + 64 + 2 * 32 + 64 + (2 * 64 * 96 + 96 + 64) + 2 * 2 * 64;
  CHECK(parameters(model).total() == 3 * with_biases + 2 * 64 + 100 * 64 + 32 * 64);
  auto experts = small_moe(3);
  experts.moe_first = 1;
  experts.dense_ffn = 200;
  CHECK(parameters(experts).total()
        == 3 * (attention + 2 * 64) + 3 * 64 * 200 + 2 * (8 * block + 64 * 8) + 64 + 2 * 100 * 64);
  experts.moe_every = 2;  // layer 1 alone
  CHECK(parameters(experts).experts == 8 * block);
  CHECK(active_parameters(experts) == parameters(experts).total() - 6 * block);
}

}  // namespace
}  // namespace troupe::workload
