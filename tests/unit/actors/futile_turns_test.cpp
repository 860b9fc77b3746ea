// futile_turns_test: what a rank's last turn says of its next one.
#include "actors/futile_turns.hpp"

#include <catch2/catch.hpp>

using namespace troupe;
using namespace std::chrono_literals;

TEST_CASE("a turn that begins with collectives open and ends waiting for one of them is in vain") {
  futile_turns turns;
  turns.begins(0ms, {{1}});
  turns.ends(5ms, {{1}});
  REQUIRE_FALSE(turns.expected());
  turns.begins(10ms, {{2}, {3}});
  turns.ends(11ms, {{2}});
  CHECK(turns.expected());
  turns.begins(20ms, {});  // nothing was open: it says nothing
  turns.ends(21ms, {{4}});
  CHECK(turns.expected());
}

TEST_CASE("a turn that is long, calls something, sleeps or waits for another is not in vain") {
  const std::set<operation_id> open{{2}};
  const auto vain = [&](nanos length, bool calls, const std::vector<operation_id>& on) {
    futile_turns turns;
    turns.begins(0ms, open);
    turns.ends(1ms, {{2}});
    REQUIRE(turns.expected());
    turns.begins(10ms, open);
    if (calls) turns.calls();
    turns.ends(10ms + length, on);
    return turns.expected();
  };
  CHECK(vain(2ms, false, {{2}}));
  CHECK_FALSE(vain(3ms, false, {{2}}));
  CHECK_FALSE(vain(1ms, true, {{2}}));
  CHECK_FALSE(vain(1ms, false, {}));
  CHECK_FALSE(vain(1ms, false, {{2}, {5}}));
}

TEST_CASE("the first turn that begins with collectives open is taken to be in vain") {
  CHECK(futile_turns{}.expected());
}
