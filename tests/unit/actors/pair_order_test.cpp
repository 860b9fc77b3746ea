// pair_order_test: orders in which pairs of ranks meet, and those that form a circle.
#include "actors/pair_order.hpp"

#include <catch2/catch.hpp>

using namespace troupe;

using members = std::vector<std::uint32_t>;

TEST_CASE("a ring in which each comes to the next one first is a circle, told once") {
  pair_order pairs;
  CHECK(pairs.comes(0, 1).empty());
  CHECK(pairs.comes(1, 2).empty());
  CHECK(pairs.comes(1, 0).empty());
  CHECK(pairs.comes(2, 0) == members{2, 0, 1});
  CHECK(pairs.comes(0, 2).empty());
}

TEST_CASE("a ring in which even ranks come to the next and odd ones to the one before meets") {
  pair_order pairs;
  for (std::uint32_t rank : {0, 1, 2, 3}) {
    const auto next = (rank + 1) % 4, before = (rank + 3) % 4;
    CHECK(pairs.comes(rank, rank % 2 ? before : next).empty());
    CHECK(pairs.comes(rank, rank % 2 ? next : before).empty());
  }
}

TEST_CASE("a pair that has met is no matter any more, whoever comes again") {
  pair_order pairs;
  for (int turn = 0; turn < 3; ++turn) {
    CHECK(pairs.comes(0, 1).empty());
    CHECK(pairs.comes(1, 0).empty());
  }
  CHECK(pairs.comes(1, 2).empty());
  CHECK(pairs.comes(0, 1).empty());
  CHECK(pairs.comes(2, 1).empty());
  CHECK(pairs.comes(0, 0).empty());
}

TEST_CASE("two ranks that come to others first before each other wait, and meet later") {
  pair_order pairs;
  CHECK(pairs.comes(0, 2).empty());
  CHECK(pairs.comes(0, 1).empty());
  CHECK(pairs.comes(1, 0).empty());
  CHECK(pairs.comes(2, 0).empty());
  CHECK(pairs.comes(1, 2).empty());  // 0 and 1 have met by now
  CHECK(pairs.comes(2, 1).empty());
}
