// misfortune: a rank comes to grief while the others wait for it: DESIGN's status, one message that
// names the rank, a trace of what was done until then, and nothing left on the machine.

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/e2e/leftovers.hpp"
#include "tests/e2e/workspace.hpp"

namespace troupe::e2e {
namespace {

using Catch::Matchers::Contains;

struct expected {
  int status;
  std::string outcome;
  std::vector<std::string> words;  ///< in troupe's message
};

void check_misfortune(const std::string& how, const expected& expect) {
  const workspace here;
  const leftovers left;
  const auto ended = here.run({.program = {python(), test_program("misfortune.py"), how, "2"}});
  INFO(how << ": " << describe(ended));
  CHECK(ended.status == expect.status);
  CHECK(!ended.timed_out);
  REQUIRE(messages(ended).size() == 1);
  for (const auto& word : expect.words) CHECK_THAT(messages(ended).front(), Contains(word));

  const auto report = here.report();
  REQUIRE(report);
  CHECK(report->at("outcome") == expect.outcome);
  const auto trace = here.inspect(here.trace());
  REQUIRE(trace);
  CHECK(trace->at("world") == 4);
  CHECK(trace->at("operations").at("all_reduce").at("count") >= 2);
  CHECK(left.found() == std::vector<std::string>{});
  CHECK(here.temporary_files() == std::vector<std::string>{});
}

TEST_CASE("a rank that raises ends the run as a failed program") {
  check_misfortune("raise", {1, "program_failed", {"rank 2"}});
}

TEST_CASE("a rank that exits while others wait ends the run with its status named") {
  check_misfortune("exit", {1, "program_failed", {"rank 2", "7"}});
}

TEST_CASE("a rank that exits inside a collective ends the run with its status named") {
  check_misfortune("exit-in-collective", {1, "program_failed", {"rank 2", "7"}});
}

TEST_CASE("a rank that segfaults ends the run with the signal named") {
  check_misfortune("segfault", {1, "program_failed", {"rank 2", "signal 11"}});
}

TEST_CASE("a rank that is killed is lost") {
  check_misfortune("kill", {4, "lost_rank", {"rank 2", "signal 9"}});
}

TEST_CASE(
    "another count than the others' is a mismatch that names rank, operation, sequence and place") {
  check_misfortune("other-count", {4, "mismatch", {"rank 2", "all_reduce", "misfortune.py:"}});
}

TEST_CASE(
    "a helper that cleans up after a rank has its moment, one that does not end has no more") {
  const workspace here;
  const leftovers left;
  const auto tidy = [&](const std::string& does) {
    return here.run(
        {.world = 1,
         .slots = 1,
         .program = {"/bin/sh", "-c",
                     "mkfifo lives; (trap '' INT TERM; " + does + ") & exec 3>lives; kill -9 $$"}});
  };
  const auto ended = tidy("read line <lives; echo gone >tidied");
  INFO(describe(ended));
  CHECK(ended.status == 4);
  CHECK(std::filesystem::exists(here.file("tidied")));
  CHECK(std::filesystem::remove(here.file("lives")));
  const auto stayed = tidy("exec sleep 100 <lives");
  CHECK(stayed.status == 4);
  CHECK(!stayed.timed_out);
  CHECK(left.found() == std::vector<std::string>{});
}

TEST_CASE("two ranks that both send first are a deadlock, written out as a circle") {
  check_misfortune("head-to-head",
                   {4,
                    "deadlock",
                    {"rank 1 called send", "and waits for rank 2; rank 2 called send",
                     "and waits for rank 1", "misfortune.py:"}});
}

TEST_CASE("they are not accused while a thread of one of them could still receive, and does") {
  const workspace here;
  const auto ended = here.run({.program = {python(), test_program("misfortune.py"), "saved", "2"}});
  INFO(describe(ended));
  CHECK(ended.status == 0);
  CHECK(messages(ended).empty());
}

TEST_CASE(
    "another type than the others' is a mismatch that names rank, operation, sequence and place") {
  check_misfortune("other-type", {4, "mismatch", {"rank 2", "all_reduce", "misfortune.py:"}});
}

TEST_CASE("what a rank writes before it fails comes out, with the rank before it") {
  const workspace here;
  const auto ended = here.run({.program = {python(), test_program("misfortune.py"), "raise", "2"}});
  CHECK_THAT(ended.err, Contains("the victim's own exception"));
}

}  // namespace
}  // namespace troupe::e2e
