// cuda: programs that insist on cuda, where there is none: what the map to the CPU changes in the
// run of a whole training script, and that it can be left out.

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <regex>

#include "tests/e2e/leftovers.hpp"
#include "tests/e2e/workspace.hpp"

namespace troupe::e2e {
namespace {

using Catch::Matchers::Contains;

std::vector<double> losses_in(const std::string& text) {
  std::vector<double> losses;
  const std::regex line("step [0-9]+ loss ([-.0-9a-z]+)");
  for (std::sregex_iterator at(text.begin(), text.end(), line), end; at != end; ++at)
    losses.push_back(std::stod((*at)[1]));
  return losses;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

outcome train_on_cuda(const workspace& here, std::vector<std::string> options) {
  std::vector<std::string> words = {"run", "--world", "4", "--slots", "2", "--no-trace"};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", python(), "-W", "ignore", test_program("torch/gpt_on_cuda.py"),
                             "nccl", "cuda"});
  return here.verb(words);
}

TEST_CASE("a script for nccl and cuda trains as it does with gloo on the CPU") {
  if (skipped_without_torch()) return;
  const workspace here;
  const leftovers left;
  const auto mapped = train_on_cuda(here, {});
  INFO(describe(mapped));
  REQUIRE(mapped.status == 0);
  CHECK(count_of(mapped.err, "cuda is mapped to the CPU") == 1);
  const auto plain = run({python(), "-W", "ignore", TOOLS "/demo/launch.py", "4",
                          test_program("torch/gpt_on_cuda.py"), "gloo", "cpu"});
  INFO(describe(plain));
  REQUIRE(plain.status == 0);
  const auto found = losses_in(mapped.out), wanted = losses_in(plain.out);
  REQUIRE(found.size() == 6);
  REQUIRE(wanted.size() == 6);
  for (std::size_t step = 0; step < 6; ++step)  // sums are added in another order
    CHECK(std::abs(found[step] - wanted[step]) < 2e-3);
  CHECK(found.back() < found.front() - 0.1);
  CHECK(left.found() == std::vector<std::string>{});
}

TEST_CASE("cuda is left alone when told so") {
  if (skipped_without_torch()) return;
  const workspace here;
  const auto ended = train_on_cuda(here, {"--cuda", "real"});
  INFO(describe(ended));
  CHECK(ended.status == 1);
  CHECK(count_of(ended.err, "cuda is mapped to the CPU") == 0);
  CHECK_THAT(ended.err, Contains("_cuda_setDevice"));  // torch's own words
}

TEST_CASE("a program that does not use cuda is not told of the map") {
  if (skipped_without_torch()) return;
  const workspace here;
  const auto ended =
      here.verb({"run", "--world", "2", "--slots", "1", "--no-trace", "--quiet", "--", python(),
                 "-W", "ignore", test_program("torch/objects.py"), "gloo"});
  INFO(describe(ended));
  CHECK(ended.status == 0);
  CHECK(ended.err.empty());
}

TEST_CASE("a device's file that cannot be believed is bad input, and a line says where") {
  const workspace here;
  const auto path = here.file("gpu.yaml");
  std::ofstream(path) << "base: h100\nmemory: lots\n";
  const auto ended = here.verb({"run", "--device", path, "--", "true"});
  INFO(describe(ended));
  CHECK(ended.status == 3);
  CHECK_THAT(ended.err, Contains(path + ":2:9: memory: expected a size such as 80GiB"));
  CHECK(count_of(ended.err, "\n") == 1);
  const auto absent = here.verb({"run", "--device", here.file("none.yaml"), "--", "true"});
  CHECK(absent.status == 3);
  CHECK_THAT(absent.err, Contains("none.yaml"));
  const auto unknown = here.verb({"run", "--device", "h101", "--", "true"});
  CHECK(unknown.status == 2);
  CHECK_THAT(unknown.err, Contains("h101"));
}

TEST_CASE("another word for --cuda is a usage error") {
  const workspace here;
  const auto ended = here.verb({"run", "--cuda", "fake", "--", "true"});
  CHECK(ended.status == 2);
  CHECK_THAT(ended.err, Contains("--cuda"));
}

}  // namespace
}  // namespace troupe::e2e
