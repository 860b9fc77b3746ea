#include "graph/workload/llm_settings.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <sstream>

#include "tests/unit/graph/llm_sample.hpp"

namespace troupe::workload {
namespace {

using Catch::Matchers::Contains;

std::string said(const std::string& name, const std::string& value) {
  llm_options options;
  const auto set = set_setting(options, name, value);
  if (set) return "";
  CHECK(set.error().code == errc::usage);
  return set.error().context;
}

TEST_CASE("every setting refuses nonsense by its name, and has a name of its own") {
  std::set<std::string> names;
  for (const auto& setting : llm_settings()) {
    CHECK(names.insert(setting.name).second);
    for (const auto* nonsense : {"", "much", "-1", "1e400", "nan", "1;2", "1e99"})
      CHECK_THAT(said(setting.name, nonsense), Contains(setting.name) && Contains("expected"));
  }
  CHECK(said("tp", "0") == "tp: expected a number from 1 to 1048576, found '0'");
  CHECK(said("efficiency", "1.5") == "efficiency: expected a number from 1e-06 to 1, found '1.5'");
  CHECK_THAT(said("gated", "yes"), Contains("true or false"));
  CHECK_THAT(said("schedule", "gpipe"), Contains("1f1b or interleaved"));
  CHECK_THAT(said("data-type", "fp8"), Contains("bf16, f16 or f32"));
  CHECK_THAT(said("zero", "3"), Contains("0 or 1"));
  CHECK_THAT(said("layers-per-stage", "1,,2"), Contains("commas"));
  CHECK_THAT(said("warmth", "1"), Contains("there is no setting warmth"));
}

TEST_CASE("what a trace says of its settings sets the same again") {
  auto options = options_of(small_moe(), {2, 2, 2, 4, 1});
  options.model.tied_embeddings = options.sequence_parallel = true;
  options.layers_per_stage = {3, 5};
  options.imbalance = 1.7;
  options.device.efficiency = 0.45;
  options.model.type = options.gradient_type = element_type::f16;
  options.seed = 18446744073709551615u;
  const auto described = describe(options);
  llm_options again;
  again.model.name = options.model.name;
  again.device = *known_device("h100");
  std::istringstream lines(described.back().second);
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(": ");
    INFO(line);
    CHECK(set_setting(again, line.substr(0, colon), line.substr(colon + 2)));
  }
  CHECK(describe(again) == described);
  CHECK(structural_digest(generate(again).graph) == structural_digest(generate(options).graph));
}

TEST_CASE("each setting changes the step or what is said of it") {
  const auto digest = [](const llm_options& options) {
    auto all = generate(options);
    std::uint64_t times = 0;
    for (const auto& nodes : all.graph.ranks)
      for (const auto& each : nodes) times = times * 31 + each.duration_ns;
    return std::pair(structural_digest(all.graph), times);
  };
  auto options = options_of(small_moe(), {2, 2, 4, 4, 1});
  options.sequence_parallel = true;
  options.imbalance = 1.5;
  options.model.moe_first = 1;
  options.micro_batches = 4;
  const auto before = digest(options);
  for (const auto& [name, value] :
       std::vector<std::pair<const char*, const char*>>{{"layers", "6"},
                                                        {"hidden", "128"},
                                                        {"ffn", "128"},
                                                        {"heads", "16"},
                                                        {"kv-heads", "8"},
                                                        {"head-size", "16"},
                                                        {"vocabulary", "120"},
                                                        {"sequence", "64"},
                                                        {"gated", "false"},
                                                        {"biases", "true"},
                                                        {"tied-embeddings", "true"},
                                                        {"learned-positions", "true"},
                                                        {"experts", "16"},
                                                        {"top-k", "1"},
                                                        {"moe-first", "0"},
                                                        {"moe-every", "2"},
                                                        {"dense-ffn", "64"},
                                                        {"data-type", "f16"},
                                                        {"peak-flops", "1e9"},
                                                        {"memory-bandwidth", "1e11"},
                                                        {"efficiency", "0.0001"},
                                                        {"tp", "4"},
                                                        {"pp", "4"},
                                                        {"dp", "8"},
                                                        {"ep", "2"},
                                                        {"expert-tp", "2"},
                                                        {"layers-per-stage", "3,5"},
                                                        {"micro-batch", "2"},
                                                        {"micro-batches", "8"},
                                                        {"steps", "2"},
                                                        {"zero", "1"},
                                                        {"gradient-type", "bf16"},
                                                        {"bucket-size", "1000"},
                                                        {"imbalance", "2"},
                                                        {"seed", "3"}}) {
    auto changed = options;
    INFO(name);
    REQUIRE(set_setting(changed, name, value));
    CHECK(digest(changed) != before);
  }
  auto interleaved = options;
  REQUIRE(set_setting(interleaved, "schedule", "interleaved"));
  CHECK_THAT(refusal(interleaved), Contains("virtual-stages"));
  REQUIRE(set_setting(interleaved, "virtual-stages", "2"));
  CHECK(digest(interleaved) != before);
  auto plain = options_of(small_model(), {2, 1, 1});
  const auto summed = digest(plain);
  REQUIRE(set_setting(plain, "sequence-parallel", "true"));
  CHECK(digest(plain) != summed);
}

TEST_CASE("a device's peak is not taken for another type's") {
  auto options = options_of(small_model(), {1, 1, 1});
  options.model.type = element_type::f32;
  CHECK_THAT(refusal(options), Contains("peak-flops must be given"));
  REQUIRE(set_setting(options, "peak-flops", "67e12"));
  CHECK(refusal(options).empty());
  CHECK(known_device("h900").error().context.find("a100, b200, h100, h200") != std::string::npos);
}

}  // namespace
}  // namespace troupe::workload
