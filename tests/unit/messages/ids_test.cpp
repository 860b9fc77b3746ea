// ids_test: communicator ids are the same for all members and differ for different communicators.
#include "messages/ids.hpp"

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
