// tensor_memory: what ranks' tensors hold is counted to the byte, and a capacity ends, or does not
// end, a program as a GPU's would. On every torch that this build has a backend for.

#include <catch2/catch.hpp>

#include "tests/e2e/leftovers.hpp"
#include "tests/e2e/workspace.hpp"

namespace troupe::e2e {
namespace {

using Catch::Matchers::Contains;

constexpr std::uint64_t MiB = 1 << 20;

std::vector<std::string> interpreters() {
  std::vector<std::string> all = {python()};
#ifdef TEST_TORCH2_PYTHON
  all.push_back(TEST_TORCH2_PYTHON);
#endif
  return all;
}

outcome run_mode(const workspace& here, const std::string& interpreter, const std::string& mode,
                 std::vector<std::string> options = {}) {
  std::vector<std::string> words = {
      "run",        "--world", "2",   "--slots", "1",
      "--no-trace", "--cuda",  "cpu", "--json",  here.file("report.json")};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", interpreter, "-W", "ignore",
                             test_program("torch/tensor_memory.py"), "gloo", mode});
  return here.verb(words);
}

TEST_CASE("the peak of what a rank's tensors held is known to the byte, beside its resident one") {
  if (skipped_without_torch()) return;
  for (const auto& interpreter : interpreters()) {
    const workspace here;
    const auto ended = run_mode(here, interpreter, "peak");
    INFO(interpreter << describe(ended));
    REQUIRE(ended.status == 0);
    const auto report = here.report().value();
    CHECK(report.at("tensor_memory_bytes").is_null());
    const auto& ranks = report.at("ranks");
    CHECK(ranks.at(0).at("tensor_peak_bytes") == 100 * MiB);
    CHECK(ranks.at(1).at("tensor_peak_bytes") == 80 * MiB);
    CHECK(ranks.at(0).at("peak_bytes") > 30 * MiB);
    CHECK_THAT(ended.err, Contains("tensors: 100.0 MiB at most, in rank 0"));
  }
}

TEST_CASE("a tensor beyond the capacity raises torch's OutOfMemoryError, and the program goes on") {
  if (skipped_without_torch()) return;
  const leftovers left;
  for (const auto& interpreter : interpreters()) {
    const workspace here;
    const auto ended = run_mode(here, interpreter, "capacity", {"--tensor-memory", "120MiB"});
    INFO(interpreter << describe(ended));
    REQUIRE(ended.status == 0);
    const auto report = here.report().value();
    CHECK(report.at("tensor_memory_bytes") == 120 * MiB);
    for (const auto& rank : report.at("ranks")) CHECK(rank.at("tensor_peak_bytes") == 120 * MiB);
  }
  CHECK(left.found() == std::vector<std::string>{});
}

TEST_CASE("a rank that does not catch it fails, and the finding says why") {
  if (skipped_without_torch()) return;
  for (const auto& interpreter : interpreters()) {
    const workspace here;
    const auto ended = run_mode(here, interpreter, "uncaught", {"--tensor-memory", "125829120"});
    INFO(interpreter << describe(ended));
    CHECK(ended.status == 1);
    CHECK_THAT(ended.err, Contains("OutOfMemoryError") && Contains("CPU tensors hold 100."));
    const auto report = here.report().value();
    CHECK(report.at("outcome") == "program_failed");
    REQUIRE(report.at("findings").size() == 1);
    CHECK(report.at("findings").at(0).at("ranks") == nlohmann::json{1});
    const auto text = report.at("findings").at(0).at("text").get<std::string>();
    CHECK_THAT(text, Contains("rank 1 exited with status 1, and had been refused 31457280 bytes"));
    CHECK(messages(ended).size() == 1);
  }
}

TEST_CASE("a torch that ranks import themselves is counted from there on") {
  if (skipped_without_torch()) return;
  for (const auto& interpreter : interpreters()) {
    const workspace here;
    const auto ended = here.verb({"run", "--world", "2", "--no-trace", "--json",
                                  here.file("report.json"), "--", interpreter, "-W", "ignore", "-c",
                                  "import torch; torch.empty(7 << 20, dtype=torch.uint8)"});
    INFO(interpreter << describe(ended));
    REQUIRE(ended.status == 0);
    CHECK(here.report().value().at("ranks").at(1).at("tensor_peak_bytes") == 7 * MiB);
  }
}

TEST_CASE("of a rank without torch it is not known what its tensors held") {
  const workspace here;
  const auto ended =
      here.verb({"run", "--world", "2", "--no-trace", "--tensor-memory", "1GiB", "--json",
                 here.file("report.json"), "--", test_program("greet.sh")});
  INFO(describe(ended));
  CHECK(ended.status == 0);
  for (const auto& rank : here.report().value().at("ranks"))
    CHECK(rank.at("tensor_peak_bytes").is_null());
  CHECK_THAT(ended.err, Contains("--tensor-memory limited nothing") && !Contains("tensors: "));
}

TEST_CASE("a capacity that is none is a usage error") {
  for (const std::string wrong : {"0", "0KiB", "-1", "many", "80Qib", "1.5GiB", ""}) {
    const workspace here;
    const auto ended = here.verb({"run", "--tensor-memory", wrong, "--", "true"});
    INFO(describe(ended));
    CHECK(ended.status == 2);
    REQUIRE(messages(ended).size() == 1);
    CHECK_THAT(messages(ended).front(), Contains("--tensor-memory"));
  }
}

}  // namespace
}  // namespace troupe::e2e
