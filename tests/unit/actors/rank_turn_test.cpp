// rank_turn_test: a result is handed over only with a slot, and no slot is asked for twice.
#include "actors/rank_turn.hpp"

#include <catch2/catch.hpp>
#include <random>

using namespace troupe;
using next = rank_turn::next;

namespace {

rank_turn running() {
  rank_turn turn;
  turn.wants_slot();
  turn.granted();
  return turn;
}

}  // namespace

TEST_CASE("a rank begins without a slot and asks for one once") {
  rank_turn turn;
  CHECK_FALSE(turn.holds_slot());
  CHECK(turn.wants_slot());
  CHECK(turn.asking());
  CHECK_FALSE(turn.wants_slot());
  turn.granted();
  CHECK(turn.holds_slot());
  CHECK_FALSE(turn.wants_slot());
}

TEST_CASE("a result that comes while the rank runs is handed over at once") {
  auto turn = running();
  turn.issued({1});
  CHECK(turn.resolved({1}) == next::nothing);
  CHECK(turn.deliver() == std::vector<operation_id>{{1}});
  CHECK(turn.deliver().empty());
  CHECK(turn.outstanding().empty());
}

TEST_CASE("a blocked rank gives up its slot and gets its result with the next one") {
  auto turn = running();
  turn.issued({1});
  CHECK(turn.blocked({{1}}) == next::give_up_slot);
  CHECK_FALSE(turn.holds_slot());
  CHECK(turn.resolved({1}) == next::take_slot);
  CHECK(turn.deliver().empty());
  turn.granted();
  CHECK(turn.deliver() == std::vector<operation_id>{{1}});
}

TEST_CASE("a rank whose answer is on its way keeps its slot") {
  auto turn = running();
  turn.issued({1});
  turn.issued({2});
  turn.resolved({1});
  turn.deliver();
  CHECK(turn.blocked({{1}, {2}}) == next::nothing);
  CHECK(turn.holds_slot());
}

TEST_CASE("results that nobody waits for yet wait for the slot, in the order they came") {
  auto turn = running();
  for (std::uint64_t n = 1; n <= 3; ++n) turn.issued({n});
  CHECK(turn.blocked({{3}}) == next::give_up_slot);
  CHECK(turn.resolved({2}) == next::nothing);
  CHECK(turn.resolved({1}) == next::nothing);
  CHECK(turn.resolved({3}) == next::take_slot);
  turn.granted();
  CHECK(turn.deliver() == std::vector<operation_id>{{2}, {1}, {3}});
}

TEST_CASE("of several awaited operations only the first asks for a slot") {
  auto turn = running();
  turn.issued({1});
  turn.issued({2});
  turn.blocked({{1}, {2}});
  CHECK(turn.resolved({2}) == next::take_slot);
  CHECK(turn.resolved({1}) == next::nothing);
  turn.granted();
  CHECK(turn.deliver().size() == 2);
}

TEST_CASE("a sleeper gets nothing until it asks itself") {
  auto turn = running();
  turn.issued({1});
  CHECK(turn.blocked({}) == next::give_up_slot);
  CHECK(turn.resolved({1}) == next::nothing);
  CHECK(turn.wants_slot());
  turn.granted();
  CHECK(turn.deliver() == std::vector<operation_id>{{1}});
}

TEST_CASE("a rank that lost its slot unnoticed gets one when it waits for what has come") {
  auto turn = running();
  turn.issued({1});
  turn.lost_slot();
  CHECK(turn.resolved({1}) == next::nothing);
  CHECK(turn.deliver().empty());
  CHECK(turn.blocked({{1}}) == next::take_slot);
  turn.granted();
  CHECK(turn.deliver() == std::vector<operation_id>{{1}});
}

TEST_CASE("a rank that lost its slot and waits gives up nothing, and is woken by its result") {
  auto turn = running();
  turn.issued({1});
  turn.lost_slot();
  CHECK(turn.blocked({{1}}) == next::nothing);
  CHECK(turn.resolved({1}) == next::take_slot);
}

TEST_CASE("a second wait for more operations replaces the first") {
  auto turn = running();
  turn.issued({1});
  turn.issued({2});
  CHECK(turn.blocked({{1}}) == next::give_up_slot);
  CHECK(turn.blocked({{1}, {2}}) == next::nothing);
  CHECK(turn.resolved({2}) == next::take_slot);
}

TEST_CASE("whatever a rank does, it asks for one slot at a time and loses no result") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    rank_turn turn;
    bool on_its_way = turn.wants_slot();
    std::set<operation_id> unresolved, undelivered;
    std::uint64_t issued = 0, delivered = 0;
    auto asked = [&](bool asks) {
      if (asks) CHECK_FALSE(std::exchange(on_its_way, true));
    };
    auto collect = [&] {
      for (auto operation : turn.deliver()) {
        CHECK(turn.holds_slot());
        CHECK(undelivered.erase(operation) == 1);
        ++delivered;
      }
    };
    for (int step = 0; step < 300; ++step) {
      switch (random() % 6) {
        case 0:
          if (!turn.holds_slot()) break;
          turn.issued({++issued});
          unresolved.insert({issued});
          break;
        case 1:
        case 2: {
          if (unresolved.empty()) break;
          auto at = std::next(unresolved.begin(), static_cast<long>(random() % unresolved.size()));
          const auto operation = *at;
          unresolved.erase(at);
          undelivered.insert(operation);
          asked(turn.resolved(operation) == next::take_slot);
          break;
        }
        case 3: {
          if (turn.outstanding().empty()) break;
          asked(turn.blocked({*turn.outstanding().begin()}) == next::take_slot);
          break;
        }
        case 4:
          if (std::exchange(on_its_way, false)) turn.granted();
          break;
        case 5:
          if (random() % 8 == 0) turn.lost_slot();
          break;
      }
      collect();
      CHECK(turn.asking() == on_its_way);
    }
    for (auto operation : unresolved) {
      undelivered.insert(operation);
      asked(turn.resolved(operation) == next::take_slot);
    }
    asked(turn.wants_slot());
    if (on_its_way) turn.granted();
    collect();
    CHECK(delivered == issued);
    CHECK(undelivered.empty());
  }
}
