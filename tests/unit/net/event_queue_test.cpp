// event_queue: a radix queue gives what a sorted list gives.
#include "net/event_queue.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <set>

using namespace troupe;

namespace {

struct event {
  std::uint64_t time_ns{};
  std::uint32_t order{}, what{};
  auto operator<=>(const event&) const = default;
};

}  // namespace

TEST_CASE("events come by time, and among equal times by order, however they are mixed") {
  std::mt19937_64 chance(2);
  for (int round = 0; round < 200; ++round) {
    event_queue<event> queue;
    std::multiset<event> sorted;
    std::uint32_t order = 0;
    const auto span = std::uint64_t{1} << chance() % 61;
    for (int step = 0; step < 3000; ++step) {
      if (chance() % 5 < 3 && step < 2000) {
        event made{queue.now_ns() + chance() % span * (chance() % 4 > 0), order++, 0};
        if (chance() % 4 == 0) made.order = static_cast<std::uint32_t>(chance() % order);
        made.what = static_cast<std::uint32_t>(chance());
        queue.push(made);
        sorted.insert(made);
      } else if (!sorted.empty()) {
        REQUIRE_FALSE(queue.empty());
        const auto got = queue.pop();
        REQUIRE(got.time_ns == sorted.begin()->time_ns);
        REQUIRE(got.order == sorted.begin()->order);
        const auto same = sorted.find(got);
        REQUIRE(same != sorted.end());
        sorted.erase(same);
      }
      REQUIRE(queue.size() == sorted.size());
    }
  }
}

TEST_CASE("the ends of time are no special times, and queues do not know of each other") {
  event_queue<event> one, other;
  for (const auto time : {~std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{1} << 63,
                          (std::uint64_t{1} << 63) - 1, std::uint64_t{255}, std::uint64_t{256}}) {
    one.push({time, 0, 1});
    other.push({time / 2, 0, 2});
  }
  std::vector<std::uint64_t> times;
  while (!one.empty()) times.push_back(one.pop().time_ns);
  CHECK(times
        == std::vector<std::uint64_t>{0, 255, 256, (std::uint64_t{1} << 63) - 1,
                                      std::uint64_t{1} << 63, ~std::uint64_t{0}});
  CHECK(other.size() == 6);
  CHECK(other.pop().time_ns == 0);
  other.push({0, 7, 3});
  CHECK(other.pop().order == 7);
}
