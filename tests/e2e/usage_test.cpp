// usage: what the command line refuses before anything runs, each with one message that names the
// culprit.

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/e2e/leftovers.hpp"
#include "tests/e2e/workspace.hpp"

namespace troupe::e2e {
namespace {

using Catch::Matchers::Contains;

void check_refused(const outcome& ended, int status, const std::string& culprit) {
  INFO(describe(ended));
  CHECK(ended.status == status);
  CHECK(ended.out.empty());
  REQUIRE(messages(ended).size() == 1);
  CHECK_THAT(messages(ended).front(), Contains(culprit));
}

TEST_CASE("unknown verbs and flags, and numbers that make no sense, are usage errors") {
  const workspace here;
  check_refused(here.verb({"perform"}), 2, "perform");
  check_refused(here.verb({"run", "--wrold", "4", "--", "true"}), 2, "--wrold");
  check_refused(here.verb({"inspect", "--colour", "x.prism"}), 2, "--colour");
  check_refused(here.verb({"run", "--world", "0", "--", "true"}), 2, "--world");
  check_refused(here.verb({"run", "--world", "many", "--", "true"}), 2, "--world");
  check_refused(here.verb({"run", "--world", "2", "--slots", "0", "--", "true"}), 2, "--slots");
}

TEST_CASE("run without a program is a usage error") {
  const workspace here;
  check_refused(here.verb({"run", "--world", "2"}), 2, "required");
}

TEST_CASE("help is no error and names every verb") {
  const workspace here;
  const auto ended = here.verb({"--help"});
  CHECK(ended.status == 0);
  for (const auto* verb : {"run", "inspect", "convert", "simulate", "generate", "doctor"})
    CHECK_THAT(ended.out, Contains(verb));
}

TEST_CASE("more slots than ranks are refused") {
  const workspace here;
  check_refused(here.run({.world = 2, .slots = 3, .program = {"true"}}), 2, "--slots");
}

TEST_CASE("a program that is not there is named, and nothing is left") {
  const workspace here;
  const leftovers left;
  const auto ended = here.run({.program = {"./no-such-program"}});
  INFO(describe(ended));
  CHECK(ended.status == 3);
  REQUIRE(messages(ended).size() == 1);
  CHECK_THAT(messages(ended).front(), Contains("no-such-program"));
  CHECK(left.found() == std::vector<std::string>{});
}

TEST_CASE("a Python script that is not there is named, and nothing is left") {
  const workspace here;
  const leftovers left;
  const auto ended = here.run({.program = {python(), "no_such_script.py"}});
  INFO(describe(ended));
  CHECK(ended.status == 1);
  CHECK_THAT(ended.err, Contains("no_such_script.py"));
  CHECK(left.found() == std::vector<std::string>{});
}

TEST_CASE("inspect and convert refuse foreign, empty and absent files by name") {
  const workspace here;
  std::ofstream(here.file("foreign.prism")) << "GIF89a, and then some";
  std::ofstream(here.file("empty.prism"));
  std::ofstream(here.file("zeroes.prism")) << std::string(4096, '\0');
  for (const std::string name : {"foreign.prism", "empty.prism", "zeroes.prism", "absent.prism"}) {
    check_refused(here.verb({"inspect", here.file(name)}), 3, name);
    check_refused(here.verb({"convert", here.file(name), here.file("out.json")}), 3, name);
  }
}

TEST_CASE("inspect does not overwrite the trace with what it says of it") {
  const workspace here;
  REQUIRE(here.run({.world = 1, .slots = 1, .program = {"true"}}).status == 0);
  check_refused(here.verb({"inspect", here.trace(), "--json", here.trace()}), 2, "--json");
  CHECK(here.inspect(here.trace()));
}

TEST_CASE("a program that knows nothing of collectives just runs, once a rank") {
  const workspace here;
  const leftovers left;
  const auto ended = here.run({.world = 3, .program = {test_program("greet.sh")}});
  INFO(describe(ended));
  CHECK(ended.status == 0);
  for (const std::string rank : {"0", "1", "2"})
    CHECK_THAT(ended.out,
               Contains("rank " + rank + " of 3, local " + rank + " of 3, at 127.0.0.1:"));
  CHECK(left.found() == std::vector<std::string>{});
  CHECK(here.temporary_files() == std::vector<std::string>{});
}

}  // namespace
}  // namespace troupe::e2e
