// ids_test: communicator ids are the same for all members and differ for different communicators.
#include "messages/ids.hpp"

#include "messages/companions.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <type_traits>
#include <vector>

using namespace troupe;

TEST_CASE("an id is no other kind of id") {
  CHECK_FALSE(std::is_convertible_v<rank_id, slot_id>);
  CHECK(rank_id{3} < rank_id{4});
  CHECK(std::hash<rank_id>{}({3}) == std::hash<std::uint32_t>{}(3));
}

TEST_CASE("a communicator's id depends on members, their order and the ordinal") {
  std::vector<rank_id> one{{0}, {1}, {2}}, turned{{2}, {1}, {0}}, shorter{{0}, {1}};
  CHECK(make_communicator_id(one, 0) == make_communicator_id(one, 0));
  std::set<communicator_id> ids{make_communicator_id(one, 0), make_communicator_id(one, 1),
                                make_communicator_id(turned, 0), make_communicator_id(shorter, 0),
                                make_communicator_id(shorter, 2)};
  CHECK(ids.size() == 5);
  CHECK(ids.count({0}) == 0);
}

TEST_CASE("a communicator's id is the one written in traces of earlier versions") {
  std::vector<rank_id> members{{0}, {1}, {2}, {3}};
  CHECK(make_communicator_id(members, 0).value == 0x63c1c557a22c8881ull);
}

TEST_CASE("a process' ranks have numbers that no other process' have, and tell their lead") {
  constexpr std::uint32_t processes = 3;
  std::set<rank_id> all;
  for (std::uint32_t lead = 0; lead < processes; ++lead)
    for (companion_number companion = 0; companion < 4; ++companion) {
      const auto rank = rank_of({lead}, companion, processes);
      CHECK(lead_of(rank, processes) == rank_id{lead});
      all.insert(rank);
    }
  CHECK(all.size() == 12);
  CHECK(*all.rbegin() == rank_id{11});
  CHECK(rank_of({2}, 0, processes) == rank_id{2});
  CHECK(rank_of({0}, 3, 1) == rank_id{3});
}

TEST_CASE("an operation's number has whose it is, and which") {
  constexpr auto count = (std::uint64_t{1} << 48) - 1;
  const auto last = operation_of(companions_max, count);
  CHECK(companion_of(last) == companions_max);
  CHECK(count_of(last) == count);
  CHECK(operation_of(0, 7) == operation_id{7});
  CHECK(companion_of({7}) == 0);
  static_assert(rank_of({0}, companions_max, 1).value < logical_ranks_max);
}
