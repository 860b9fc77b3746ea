// site_agreement_test: swapped calls are told of, branches by rank or by role are not.
#include "actors/site_agreement.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/actors/calls.hpp"

using namespace troupe;

namespace {

struct group {
  site_agreement sites;
  std::uint64_t sequence = 0;

  std::optional<site_agreement::doubt> meet(const collective_call& call,
                                            const std::vector<std::string>& places) {
    std::vector<member_call> all;
    for (const auto& place : places) all.push_back({call, place, {}});
    return sites.take({++sequence}, all);
  }
};

const auto sum = calls::all_reduce(4);

}  // namespace

TEST_CASE("two calls that one member swaps are told of once, with both places") {
  group of;
  CHECK_FALSE(of.meet(sum, {"a:1", "a:1", "a:1"}));
  CHECK_FALSE(of.meet(sum, {"a:2", "a:2", "a:2"}));
  auto doubt = of.meet(sum, {"a:1", "a:2", "a:1"});
  REQUIRE(doubt);
  CHECK(doubt->sequence == sequence_number{3});
  CHECK(doubt->one.call.call_site == "a:1");
  CHECK(doubt->one.group_rank == 0);
  CHECK(doubt->other.call.call_site == "a:2");
  CHECK(doubt->other.group_rank == 1);
  CHECK_FALSE(of.meet(sum, {"a:2", "a:1", "a:2"}));
}

TEST_CASE("a first swap is told of when its second half shows it") {
  group of;
  CHECK_FALSE(of.meet(sum, {"a:1", "a:2"}));
  auto doubt = of.meet(sum, {"a:2", "a:1"});
  REQUIRE(doubt);
  CHECK(doubt->sequence == sequence_number{1});
  CHECK(doubt->one.group_rank == 0);
}

TEST_CASE("a call that a member skips is told of") {
  group of;
  CHECK_FALSE(of.meet(sum, {"a:1", "a:1"}));
  CHECK(of.meet(sum, {"a:2", "a:1"}));
}

TEST_CASE("branches by rank, by role, and places that are not known are not told of") {
  group by_rank, by_role, unknown;
  for (int turn = 0; turn < 20; ++turn) {
    CHECK_FALSE(by_rank.meet(sum, {"a:1", "a:2", "a:2"}));
    CHECK_FALSE(by_rank.meet(sum, {"b:1", "b:1", "b:1"}));
    auto from = calls::plain(operation::broadcast, 4, turn % 3);
    std::vector<std::string> places(3, "a:2");
    places[static_cast<std::size_t>(turn % 3)] = "a:1";
    CHECK_FALSE(by_role.meet(from, places));
    CHECK_FALSE(unknown.meet(sum, {"a:1", "", turn % 2 ? "" : "a:1"}));
  }
}

TEST_CASE("a root's call that swaps with another of its own is told of") {
  group of;
  const auto from = calls::plain(operation::broadcast, 4, 0);
  CHECK_FALSE(of.meet(from, {"a:1", "a:2"}));
  CHECK(of.meet(from, {"a:2", "a:1"}));
}

TEST_CASE("three places in one collective are each held against the others") {
  group of;
  CHECK_FALSE(of.meet(sum, {"a:1", "a:2", "a:3"}));
  auto doubt = of.meet(sum, {"a:1", "a:3", "a:2"});
  REQUIRE(doubt);
  CHECK(doubt->one.call.call_site == "a:2");
  CHECK(doubt->other.call.call_site == "a:3");
}
