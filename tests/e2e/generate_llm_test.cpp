// generate_llm: LLM training steps through the verbs: generate, then inspect and convert; and what
// bad descriptions are told.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/e2e/workspace.hpp"

namespace troupe::e2e {
namespace {

using Catch::Matchers::Contains;
using nlohmann::json;

std::string put(const workspace& here, const std::string& name, const std::string& text) {
  std::ofstream(here.file(name), std::ios::binary) << text;
  return here.file(name);
}

json generated(const workspace& here, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"generate", "llm"});
  arguments.insert(arguments.end(), {"--json", "-"});
  const auto ended = here.verb(arguments);
  INFO(describe(ended));
  REQUIRE(ended.status == 0);
  return json::parse(ended.out);
}

TEST_CASE("a generated training step is a trace that inspect and convert take") {
  const workspace here;
  const auto file = here.file("step.prism");
  const auto report = generated(here, {"llama-7b", "--tp", "2", "--pp", "2", "--dp", "2", "--zero",
                                       "1", "--micro-batches", "4", "-o", file});
  CHECK((report.at("outcome") == "done" && report.at("findings").empty()));
  CHECK((report.at("world") == 8 && report.at("parameters") == 6738415616));
  CHECK(report.at("tokens") == 2 * 4 * 4096);
  CHECK(report.at("output_bytes") == std::filesystem::file_size(file));
  REQUIRE(report.at("stages").size() == 2);
  CHECK(report.at("stages").at(0).at("layers") == 16);
  const auto found = here.inspect(file).value();
  CHECK((found.at("world") == 8 && found.at("stage") == "timed"));
  CHECK(found.at("nodes") == report.at("nodes"));
  CHECK(found.at("communicators") == report.at("communicators"));
  CHECK(found.at("operations").at("send").at("count") == 4 * 4 * 2);
  CHECK(found.at("operations").at("send") == found.at("operations").at("recv"));
  CHECK(found.at("metadata").at("generator") == "troupe generate llm");
  const auto text = here.verb({"inspect", file, "--traffic"});
  CHECK_THAT(text.out, Contains("llama-7b, 6.74 billion parameters") && Contains("tp 2, pp 2, dp 2")
                           && Contains("reduce_scatter"));
  const auto timeline = here.verb({"convert", file, here.file("step.perfetto")});
  INFO(describe(timeline));
  CHECK(timeline.status == 0);
}

TEST_CASE("a layout's degrees change who sends what to whom") {
  const workspace here;
  const auto file = here.file("step.prism");
  std::set<std::string> seen;
  for (const auto& layout : std::vector<std::vector<std::string>>{
           {"--tp", "8"},
           {"--pp", "8"},
           {"--dp", "8"},
           {"--dp", "8", "--ep", "4"},
           {"--dp", "8", "--ep", "8"},
           {"--tp", "2", "--sequence-parallel", "--dp", "4", "--ep", "4"},
           {"--pp", "2", "--dp", "4", "--ep", "2"}}) {
    std::vector<std::string> arguments{"mixtral-8x7b", "--sequence", "4096", "-o", file};
    arguments.insert(arguments.end(), layout.begin(), layout.end());
    if (layout[1] == "8" && layout[0] == "--tp") arguments.push_back("--sequence-parallel");
    generated(here, arguments);
    CHECK(seen.insert(here.inspect(file).value().at("traffic").dump()).second);
  }
}

TEST_CASE("a description's file is read, and the command line comes after it") {
  const workspace here;
  const auto yaml = put(here, "tiny.yaml",
                        "layers: 8\nhidden: 64\nffn: 256\nheads: 4\nvocabulary: 100\n"
                        "sequence: 128\ntp: 2\npp: 4\nlayers-per-stage: [1, 2, 2, 3]\n");
  const auto report = generated(here, {yaml, "-o", here.file("a.prism"), "--quiet"});
  CHECK((report.at("world") == 8 && report.at("model") == "tiny"));
  CHECK(report.at("stages").at(3).at("layers") == 3);
  const auto other = generated(here, {yaml, "--dp", "2", "-o", here.file("b.prism")});
  CHECK(other.at("world") == 16);
}

TEST_CASE("what cannot be a training step is one error, and leaves no file") {
  const workspace here;
  const auto out = here.file("x.prism");
  const auto refused = [&](std::vector<std::string> arguments, int status, const char* said) {
    arguments.insert(arguments.begin(), {"generate", "llm"});
    arguments.insert(arguments.end(), {"-o", out});
    const auto ended = here.verb(arguments);
    INFO(describe(ended));
    CHECK(ended.status == status);
    REQUIRE(messages(ended).size() == 1);
    CHECK_THAT(messages(ended).front(), Contains(said));
    CHECK_FALSE(std::filesystem::exists(out));
  };
  refused({"llama-9b"}, 2, "there is no built-in model llama-9b");
  refused({"llama-7b", "--tp", "3"}, 2, "32 heads do not divide by tp 3");
  refused({"llama-7b", "--tp", "0"}, 2, "--tp: expected a number from 1");
  refused({"llama-7b", "--warmth", "1"}, 2, "--warmth");
  refused({"llama-7b", "--device", "h900"}, 2, "there is no built-in device h900");
  refused({"llama-7b", "--pp", "4", "--schedule", "interleaved", "--virtual-stages", "2",
           "--micro-batches", "6"},
          2, "6, to be a multiple of pp, 4");
  refused({"llama-7b", "--ep", "2"}, 2, "ep 2 of a model without experts");
  refused({"llama-7b", "--layers-per-stage", "1,2"}, 2, "layers-per-stage: 2 numbers");
  refused({here.file("absent.yaml")}, 3, "absent.yaml");
  refused({put(here, "a.yaml", "model: llama-7b\ntp: x\n")}, 3, "a.yaml:2:1: tp: expected");
  refused({put(here, "b.yaml", "model: llama-7b\ntp: 3\n")}, 3, "b.yaml: 32 heads do not divide");
  refused({put(here, "c.yaml", "layers: 4\n")}, 3, "hidden: the model needs one");
  const auto named = here.verb({"generate", "llm", "llama-7b", "-o", here.file("x.goal")});
  CHECK(named.status == 2);
  CHECK_THAT(named.err, Contains("ends in .prism"));
  CHECK(here.verb({"generate", "llm", "llama-7b", "-o", "/absent/x.prism"}).status == 3);
  CHECK(here.verb({"generate", "llm", "-o", out}).status == 2);
  CHECK(here.verb({"generate", "llm", "--help"}).status == 0);
}

}  // namespace
}  // namespace troupe::e2e
