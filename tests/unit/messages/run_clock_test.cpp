// run_clock_test: rank time stands still while it is stopped, and a reader never sees half a
// change.
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "messages/region_header.hpp"

using namespace troupe;

namespace {

std::uint64_t at(const run_clock& clock, std::uint64_t time) {
  return clock.rank_time_ns([=] { return time; });
}

}  // namespace

TEST_CASE("rank time is the clock's until it is stopped, and goes on from there") {
  run_clock clock{};
  CHECK(at(clock, 100) == 100);
  clock.stop(150);
  CHECK(clock.is_stopped());
  CHECK(at(clock, 150) == 150);
  CHECK(at(clock, 900) == 150);
  clock.go_on(1000);
  CHECK_FALSE(clock.is_stopped());
  CHECK(at(clock, 1000) == 150);
  CHECK(at(clock, 1100) == 250);
  clock.stop(1200);
  clock.go_on(1300);
  CHECK(at(clock, 1300) == 350);
}

TEST_CASE("rank time never runs backwards for a reader in another thread") {
  run_clock clock{};
  std::atomic<std::uint64_t> now = 1;
  std::atomic<bool> over = false;
  std::thread writer([&] {
    for (std::uint64_t n = 0; n < 200'000; ++n) {
      clock.stop(now);
      now += 1000;
      clock.go_on(now);
      now += 10;
    }
    over = true;
  });
  std::uint64_t last = 0, backwards = 0;
  while (!over) {
    const auto seen = clock.rank_time_ns([&] { return now.load(); });
    backwards += seen < last;
    last = seen;
  }
  writer.join();
  CHECK(backwards == 0);
  CHECK(at(clock, now) == 1 + 200'000 * 10);
}
