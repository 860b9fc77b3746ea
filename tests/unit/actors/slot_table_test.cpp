// slot_table_test: who gets the next slot, and that none is granted twice and no rank forgotten.
#include "actors/slot_table.hpp"

#include <catch2/catch.hpp>
#include <random>

using namespace troupe;

namespace {

const communicator_id pair_01{1}, pair_23{2}, everyone{3};

wait_target target(communicator_id communicator, std::uint64_t sequence) {
  return {communicator, {sequence}};
}

std::vector<rank_id> ranks(std::uint32_t count) {
  std::vector<rank_id> all;
  for (std::uint32_t n = 0; n < count; ++n) all.push_back({n});
  return all;
}

std::vector<std::uint32_t> all_grants(slot_table& table) {
  std::vector<std::uint32_t> order;
  while (auto grant = table.next()) order.push_back(grant->rank.value);
  return order;
}

/// One slot, given back after each grant: the order in which ranks get it.
std::vector<std::uint32_t> turns(slot_table& table) {
  std::vector<std::uint32_t> order;
  while (auto grant = table.next()) {
    order.push_back(grant->rank.value);
    table.leave(grant->rank);
  }
  return order;
}

/// Takes the slot at once and blocks.
void run_and_block(slot_table& table, rank_id rank, const std::vector<wait_target>& on) {
  table.want(rank, {}, claim::works);
  REQUIRE(table.next()->rank == rank);
  table.give_up(rank, on);
}

}  // namespace

TEST_CASE("who held a free slot last goes on with it, and that is no switch") {
  slot_table table{2};
  for (auto rank : ranks(4)) table.want(rank, {}, claim::works);
  CHECK(all_grants(table) == std::vector<std::uint32_t>{0, 1});
  const auto slot = table.held_by({1});
  table.give_up({0}, {target(everyone, 1)});
  table.give_up({1}, {target(everyone, 1)});
  CHECK(all_grants(table) == std::vector<std::uint32_t>{2, 3});
  table.give_up({2}, {target(everyone, 1)});
  table.give_up({3}, {target(everyone, 1)});
  CHECK(table.switches() == 4);
  for (auto rank : ranks(4)) table.want(rank, {target(everyone, 1)}, claim::works);
  CHECK(all_grants(table) == std::vector<std::uint32_t>{2, 3});
  CHECK(table.held_by({3}) == slot);
  CHECK(table.switches() == 4);
  table.give_up({3}, {target(everyone, 2)});
  CHECK(all_grants(table) == std::vector<std::uint32_t>{0});
  CHECK(table.switches() == 5);
}

TEST_CASE("who held a free slot last stands back behind those for whom others wait") {
  slot_table table{1};
  table.know_group(pair_01, ranks(2));
  run_and_block(table, {0}, {target(pair_01, 1)});
  run_and_block(table, {2}, {});
  table.want({2}, {}, claim::works);
  table.want({1}, {}, claim::works);
  CHECK(turns(table) == std::vector<std::uint32_t>{1, 2});
}

TEST_CASE("a turn in vain waits until nobody runs or it is worth something") {
  slot_table table{2};
  table.want({0}, {}, claim::works);
  table.want({1}, {}, claim::in_vain);
  table.want({2}, {}, claim::in_vain);
  CHECK(all_grants(table) == std::vector<std::uint32_t>{0});
  CHECK(table.wanted());
  CHECK_FALSE(table.wanted_for_work());
  table.works_now({2});
  CHECK(table.wanted_for_work());
  CHECK(all_grants(table) == std::vector<std::uint32_t>{2});
  table.give_up({0}, {});
  CHECK(all_grants(table).empty());
  table.give_up({2}, {});
  CHECK(all_grants(table) == std::vector<std::uint32_t>{1});
}

TEST_CASE("no more ranks hold slots than there are, each another one") {
  slot_table table{2};
  for (auto rank : ranks(4)) table.want(rank, {}, claim::works);
  CHECK(all_grants(table) == std::vector<std::uint32_t>{0, 1});
  CHECK(table.held_by({0}) != table.held_by({1}));
  CHECK_FALSE(table.held_by({2}));
  CHECK(table.holders() == std::vector<rank_id>{{0}, {1}});
  CHECK(table.wanted());
  table.give_up({0}, {});
  CHECK(all_grants(table) == std::vector<std::uint32_t>{2});
  CHECK(table.switches() == 3);
}

TEST_CASE("without anything awaited the oldest is next") {
  slot_table table{1};
  for (std::uint32_t rank : {3u, 0u, 2u, 1u}) table.want({rank}, {}, claim::works);
  CHECK(turns(table) == std::vector<std::uint32_t>{3, 0, 2, 1});
}

TEST_CASE("a rank that a collective lacks comes before an older one that none lacks") {
  slot_table table{1};
  table.know_group(pair_01, {{0}, {1}});
  run_and_block(table, {0}, {target(pair_01, 1)});
  table.want({5}, {}, claim::works);
  table.want({1}, {}, claim::works);
  CHECK(turns(table) == std::vector<std::uint32_t>{1, 5});
}

TEST_CASE("the collective that lacks fewest members comes first") {
  slot_table table{1};
  table.know_group(everyone, ranks(6));
  table.know_group(pair_23, {{2}, {3}});
  run_and_block(table, {0}, {target(everyone, 1)});
  run_and_block(table, {2}, {target(pair_23, 1)});
  table.want({4}, {}, claim::works);
  table.want({3}, {}, claim::works);
  CHECK(turns(table) == std::vector<std::uint32_t>{3, 4});
}

TEST_CASE("of two collectives that lack as many, the one awaited longer comes first") {
  slot_table table{1};
  table.know_group(pair_01, {{0}, {1}});
  table.know_group(pair_23, {{2}, {3}});
  run_and_block(table, {2}, {target(pair_23, 1)});
  run_and_block(table, {0}, {target(pair_01, 1)});
  table.want({1}, {}, claim::works);
  table.want({3}, {}, claim::works);
  CHECK(turns(table) == std::vector<std::uint32_t>{3, 1});
}

TEST_CASE("a group that is known only after the first wait counts the same") {
  slot_table table{1};
  run_and_block(table, {0}, {target(pair_01, 1)});
  table.want({5}, {}, claim::works);
  table.want({1}, {}, claim::works);
  table.know_group(pair_01, {{0}, {1}});
  CHECK(turns(table) == std::vector<std::uint32_t>{1, 5});
}

TEST_CASE("a group that is known late leaves nothing behind") {
  slot_table table{1};
  run_and_block(table, {0}, {target(everyone, 1)});
  table.know_group(everyone, ranks(3));
  run_and_block(table, {1}, {target(everyone, 1)});
  table.want({2}, {}, claim::works);
  REQUIRE(table.next()->rank == rank_id{2});
  table.want({0}, {target(everyone, 1)}, claim::works);
  table.want({1}, {target(everyone, 1)}, claim::works);
  table.want({9}, {}, claim::works);
  table.give_up({2}, {});
  CHECK(turns(table) == std::vector<std::uint32_t>{0, 1, 9});
}

TEST_CASE("a collective that is over wants nobody") {
  slot_table table{1};
  table.know_group(everyone, ranks(3));
  run_and_block(table, {0}, {target(everyone, 1)});
  table.want({7}, {}, claim::works);
  table.want({0}, {target(everyone, 1)}, claim::works);
  table.want({1}, {}, claim::works);
  CHECK(turns(table) == std::vector<std::uint32_t>{0, 7, 1});  // 0 held it last
}

TEST_CASE("a rank that only polled has no claim on the next slot") {
  slot_table table{1};
  table.know_group(pair_01, {{0}, {1}});
  run_and_block(table, {0}, {target(pair_01, 1)});
  table.want({7}, {}, claim::works);
  table.want({1}, {}, claim::polls);
  CHECK(turns(table) == std::vector<std::uint32_t>{7, 1});
}

TEST_CASE("a rank that polls for ever lets all others have their turns") {
  slot_table table{1};
  table.know_group(everyone, ranks(4));
  for (auto rank : ranks(4)) table.want(rank, {}, rank.value == 0 ? claim::polls : claim::works);
  std::vector<int> turns_of(4);
  auto grant = table.next();
  for (int n = 0; n < 40; ++n) {
    REQUIRE(grant);
    const auto rank = grant->rank;
    ++turns_of[rank.value];
    table.give_up(rank, {});
    grant = table.next();
    table.want(rank, {}, rank.value == 0 ? claim::polls : claim::works);
  }
  CHECK(turns_of == std::vector<int>{10, 10, 10, 10});
}

TEST_CASE("a rank whose slot was taken may still say that it blocks") {
  slot_table table{1};
  table.want({0}, {}, claim::works);
  table.want({1}, {}, claim::works);
  table.next();
  table.give_up({0}, {});
  CHECK(table.next()->rank == rank_id{1});
  table.give_up({0}, {target(pair_01, 1)});
  CHECK(table.held_by({1}));
  table.give_up({1}, {});
  CHECK(table.holders().empty());
}

TEST_CASE("who only polls again does not want a slot for work") {
  slot_table table{1};
  table.want({0}, {}, claim::polls);
  table.want({1}, {}, claim::polls);
  CHECK(table.wanted());
  CHECK_FALSE(table.wanted_for_work());
  table.want({2}, {}, claim::works);
  CHECK(table.wanted_for_work());
  table.leave({2});
  CHECK_FALSE(table.wanted_for_work());
  table.want({3}, {}, claim::works);
  while (auto grant = table.next()) table.give_up(grant->rank, {});
  CHECK_FALSE(table.wanted_for_work());
}

TEST_CASE("a rank that leaves holds, wants and awaits nothing") {
  slot_table table{1};
  table.know_group(pair_01, {{0}, {1}});
  run_and_block(table, {0}, {target(pair_01, 1)});
  table.want({5}, {}, claim::works);
  table.want({1}, {}, claim::works);
  table.leave({0});  // it awaited
  CHECK(table.next()->rank == rank_id{5});
  table.leave({1});  // it wanted
  CHECK_FALSE(table.wanted());
  table.leave({5});  // it held
  table.want({2}, {}, claim::works);
  CHECK(table.next());
}

TEST_CASE("random ranks never get more than the slots, and none is lost") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const std::uint32_t world = 1 + random() % 12, slots = 1 + random() % 4;
    slot_table table{slots};
    enum class place { outside, wanting, holding, blocked, gone };
    std::vector<place> places(world, place::outside);
    std::vector<bool> in_vain(world, false);
    std::vector<communicator_id> known;
    auto some_targets = [&] {
      std::vector<wait_target> on;
      for (auto communicator : known)
        if (random() % 3 == 0) on.push_back(target(communicator, random() % 3));
      return on;
    };
    auto grant_all = [&] {
      while (auto grant = table.next()) {
        CHECK(places[grant->rank.value] == place::wanting);
        CHECK(grant->slot.value < slots);
        places[grant->rank.value] = place::holding;
      }
      const auto held = std::count(places.begin(), places.end(), place::holding);
      CHECK(static_cast<std::uint32_t>(held) <= slots);
      CHECK(table.holders().size() == static_cast<std::size_t>(held));
      const auto wanting = std::count(places.begin(), places.end(), place::wanting);
      CHECK(table.wanted() == (wanting > 0));
      std::int64_t useful = 0;
      for (std::uint32_t n = 0; n < world; ++n)
        useful += places[n] == place::wanting && !in_vain[n];
      if (useful > 0) CHECK(static_cast<std::uint32_t>(held) == slots);  // none lies idle
      if (wanting > 0) CHECK(held > 0);
    };
    for (int step = 0; step < 400; ++step) {
      const rank_id rank{static_cast<std::uint32_t>(random() % world)};
      auto& at = places[rank.value];
      switch (random() % 8) {
        case 0: {
          std::vector<rank_id> members;
          for (auto member : ranks(world))
            if (random() % 2) members.push_back(member);
          if (members.empty()) break;
          known.push_back({known.size() + 1});
          table.know_group(known.back(), members);
          break;
        }
        case 1:
          if (at == place::wanting && in_vain[rank.value] && random() % 2) {
            table.works_now(rank);
            in_vain[rank.value] = false;
          }
          if (random() % 30 != 0 || at == place::gone) break;
          table.leave(rank);
          at = place::gone;
          break;
        case 2:
        case 3:
        case 4:
          if (at != place::outside && at != place::blocked) break;
          in_vain[rank.value] = random() % 3 == 0;
          table.want(rank, some_targets(),
                     in_vain[rank.value] ? claim::in_vain
                     : random() % 3 == 0 ? claim::polls
                                         : claim::works);
          at = place::wanting;
          break;
        default:
          if (at != place::holding && at != place::blocked) break;
          table.give_up(rank, some_targets());
          at = place::blocked;
      }
      grant_all();
    }
    // Every rank that still wants a slot gets one once the others have left.
    for (auto rank : ranks(world)) {
      if (places[rank.value] != place::wanting) table.leave(rank);
      if (places[rank.value] == place::holding) places[rank.value] = place::gone;
    }
    std::uint32_t expected = 0, got = 0;
    for (auto each : places) expected += each == place::wanting;
    while (auto grant = table.next()) {
      ++got;
      CHECK(std::exchange(places[grant->rank.value], place::gone) == place::wanting);
      table.leave(grant->rank);
    }
    CHECK(got == expected);
    CHECK_FALSE(table.wanted());
  }
}
