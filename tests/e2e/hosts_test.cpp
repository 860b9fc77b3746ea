// hosts: what ranks are told of hosts that there are not: as on real ones, whether they are forked
// or executed.

#include <catch2/catch.hpp>

#include "tests/e2e/workspace.hpp"

namespace troupe::e2e {
namespace {

using Catch::Matchers::Contains;

void check_places(std::vector<std::string> options, std::vector<std::string> program) {
  const workspace here;
  std::vector<std::string> words = {"run", "--no-trace", "--quiet"};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back("--");
  words.insert(words.end(), program.begin(), program.end());
  const auto ended = here.verb(words);
  INFO(describe(ended));
  CHECK(ended.status == 0);
  for (const std::string line : {
           "[0] 0: local 0 of 3, host 0 0 of 2, world 6\n",
           "[2] 2: local 2 of 3, host 0 0 of 2, world 6\n",
           "[3] 3: local 0 of 3, host 1 1 of 2, world 6\n",
           "[4] 4: local 1 of 3, host 1 1 of 2, world 6\n",
       })
    CHECK_THAT(ended.out, Contains(line));
}

TEST_CASE("ranks of several hosts have their place on their host") {
  const std::vector<std::string> forked = {python(), test_program("where.py")};
  const std::vector<std::string> executed = {"sh", "-c",     "exec \"$@\"",
                                             "sh", python(), test_program("where.py")};
  check_places({"--hosts", "2", "--per-host", "3"}, forked);
  check_places({"--hosts", "2", "--per-host", "3"}, executed);
  check_places({"--hosts", "2", "--world", "6"}, forked);
  check_places({"--per-host", "3", "--world", "6"}, executed);
}

TEST_CASE("hosts that ranks do not fill are a usage error that says which number does not fit") {
  const workspace here;
  const auto refused = [&](std::vector<std::string> options, const std::string& culprit) {
    options.insert(options.begin(), "run");
    options.insert(options.end(), {"--", "true"});
    const auto ended = here.verb(options);
    INFO(describe(ended));
    CHECK(ended.status == 2);
    REQUIRE(messages(ended).size() == 1);
    CHECK_THAT(messages(ended).front(), Contains(culprit));
  };
  refused({"--hosts", "2", "--per-host", "3", "--world", "8"}, "--world of 8");
  refused({"--hosts", "3", "--world", "8"}, "3 --hosts");
  refused({"--per-host", "3", "--world", "8"}, "--per-host 3");
  refused({"--hosts", "9", "--world", "8"}, "9 --hosts");
  refused({"--hosts", "0", "--world", "8"}, "--hosts");
  refused({"--hosts", "300", "--per-host", "300"}, "--hosts 300");
}

}  // namespace
}  // namespace troupe::e2e
