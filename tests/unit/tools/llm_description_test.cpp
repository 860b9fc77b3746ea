#include "tools/llm_description.hpp"

#include <catch2/catch.hpp>
#include <cstring>

#include "tests/unit/graph/temporary_folder.hpp"

using namespace troupe;
using Catch::Matchers::Contains;

namespace {

result<workload::llm_options> read(const temporary_folder& folder, const std::string& text) {
  const auto path = folder.file("model.yaml");
  write_file(path.c_str(), text.data(), text.size());
  return read_llm_description(path);
}

std::string refusal(const temporary_folder& folder, const std::string& text) {
  const auto described = read(folder, text);
  if (described) return "";
  CHECK(described.error().code == errc::bad_input);
  return described.error().context;
}

TEST_CASE("a description begins with what it names and changes what it says") {
  const temporary_folder folder;
  const auto described = *read(folder,
                               "layers: 4    # before the model, and still its change\n"
                               "model: mixtral-8x7b\n"
                               "device: h200\n"
                               "efficiency: 0.5\n"
                               "layers-per-stage: [1, 3]\n"
                               "pp: 2\n"
                               "sequence-parallel: true\n"
                               "schedule: 1f1b\n");
  CHECK(described.model.name == "mixtral-8x7b");
  CHECK((described.model.layers == 4 && described.model.experts == 8));
  CHECK((described.device.name == "h200" && described.device.efficiency == 0.5));
  CHECK(described.layers_per_stage == std::vector<std::uint64_t>{1, 3});
  CHECK((described.layout.pp == 2 && described.sequence_parallel));
  const auto own = *read(folder, "hidden: 64\n");
  CHECK((own.model.name == "model" && own.model.hidden == 64 && own.device.name == "h100"));
  CHECK((own.layout.expert_tp == 0 && own.model.layers == 0));
}

TEST_CASE("a built-in model needs no file, and one that is none is told of both") {
  CHECK(read_llm_description("llama-7b")->model.layers == 32);
  const auto none = read_llm_description("llama-9b").error();
  CHECK(none.code == errc::usage);
  CHECK_THAT(none.context, Contains("llama-9b") && Contains("llama-70b") && Contains(".yaml"));
}

TEST_CASE("what a description has wrong is told with its place") {
  const temporary_folder folder;
  CHECK_THAT(refusal(folder, "tp: 2\nlayer: 4\n"),
             Contains("model.yaml:2:1: there is no setting layer"));
  CHECK_THAT(refusal(folder, "tp: 2\n---\npp: 4\n"), Contains(":3:1: expected one document"));
  CHECK_THAT(refusal(folder, "tp: two\n"), Contains(":1:1: tp: expected a number from 1 to"));
  CHECK_THAT(refusal(folder, "tp: [1, 2]\n"), Contains(":1:5: tp: expected one value"));
  CHECK_THAT(refusal(folder, "layers-per-stage: [1, [2]]\n"), Contains("a list of numbers"));
  CHECK_THAT(refusal(folder, "layers-per-stage: []\n"), Contains("layers-per-stage: expected"));
  CHECK_THAT(refusal(folder, "tp: 2\ntp: 2\n"), Contains(":2:1: tp is there already"));
  CHECK_THAT(refusal(folder, "model: gpt5\n"), Contains(":1:8: there is no built-in model gpt5"));
  CHECK_THAT(refusal(folder, "device: [h100]\n"), Contains(":1:9: device: expected a name"));
  CHECK_THAT(refusal(folder, "- tp\n"), Contains("expected a map"));
  CHECK_THAT(refusal(folder, "tp: {\n"), Contains("model.yaml:"));
  CHECK_THAT(refusal(folder, "[a]: 1\n"), Contains("a setting's name"));
  CHECK_THAT(refusal(folder, ""), Contains("expected a map"));
  CHECK_THAT(refusal(folder, std::string(2 << 20, '#')), Contains("more than 1 MiB"));
  const auto absent = read_llm_description(folder.file("absent.yaml"));
  REQUIRE_FALSE(absent);
  CHECK_THAT(absent.error().context, Contains("absent.yaml"));
}

}  // namespace
