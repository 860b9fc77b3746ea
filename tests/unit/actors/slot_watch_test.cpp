// slot_watch_test: sleepers are told from those who compute, and patience ends where ranks poll.
#include "actors/slot_watch.hpp"

#include <catch2/catch.hpp>

using namespace troupe;
using namespace std::chrono_literals;

namespace {

constexpr process_activity::sample asleep(nanos cpu) {
  return {static_cast<std::uint64_t>(cpu.count()), true, 1};
}
constexpr process_activity::sample awake(nanos cpu) {
  return {static_cast<std::uint64_t>(cpu.count()), false, 1};
}

}  // namespace

TEST_CASE("a process sleeps that is found asleep twice and has used no time between") {
  sleep_watch watch;
  CHECK_FALSE(watch.sleeps(0ms, asleep(5ms)));
  CHECK(watch.sleeps(10ms, asleep(5ms)));
  CHECK_FALSE(watch.sleeps(20ms, awake(5ms)));
  CHECK_FALSE(watch.sleeps(30ms, asleep(5ms)));
  CHECK_FALSE(watch.sleeps(40ms, asleep(6ms)));
}

TEST_CASE("a loop of short sleeps is found after five looks, one that computes between is not") {
  auto after_looks = [](nanos cpu_a_look, int looks) {
    sleep_watch watch;
    bool found = false;
    for (int n = 0; n < looks; ++n) found = watch.sleeps(n * 10ms, asleep(n * cpu_a_look));
    return found;
  };
  CHECK_FALSE(after_looks(1ms, 4));
  CHECK(after_looks(1ms, 5));
  CHECK(after_looks(1ms, 50));
  CHECK(after_looks(3ms, 5));
  CHECK_FALSE(after_looks(4ms, 50));
  sleep_watch watch;
  for (int n = 0; n < 50; ++n) {  // awake at every fourth look
    const auto seen = n % 4 ? asleep(n * 1ms) : awake(n * 1ms);
    CHECK_FALSE(watch.sleeps(n * 10ms, seen));
  }
}

TEST_CASE("patience lasts half a minute without a word, and less each time it was in vain") {
  patience waits;
  waits.heard(100s);
  CHECK_FALSE(waits.is_over(129s));
  CHECK(waits.is_over(130s));
  waits.lent(130s);
  CHECK_FALSE(waits.is_over(144s));
  CHECK(waits.is_over(145s));
  waits.heard(145s);
  CHECK_FALSE(waits.is_over(159s));
  for (int n = 0; n < 10; ++n) waits.lent(145s);
  CHECK_FALSE(waits.is_over(145s + 999ms));
  CHECK(waits.is_over(146s));
}

TEST_CASE("where turns are long patience grows again") {
  patience waits;
  for (int n = 0; n < 10; ++n) waits.lent(0s);
  waits.ended(500ms);  // an ordinary one
  CHECK(waits.is_over(1s));
  for (auto length : {1s, 2s, 4s, 8s, 16s, 60s}) waits.ended(length);
  CHECK_FALSE(waits.is_over(29s));
  CHECK(waits.is_over(30s));
}

TEST_CASE("only one and the same wait for other threads of a process is long") {
  park_watch watch;
  CHECK_FALSE(watch.is_long(0ms, 7));
  CHECK_FALSE(watch.is_long(99ms, 7));
  CHECK(watch.is_long(100ms, 7));
  CHECK_FALSE(watch.is_long(110ms, 0));
  for (std::uint32_t park = 1; park < 50; ++park) CHECK_FALSE(watch.is_long(park * 50ms, park));
}
