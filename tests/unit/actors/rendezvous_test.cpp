// rendezvous_test: members agree or are told, both by name, what they disagree about.
#include "actors/rendezvous.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/actors/calls.hpp"

using namespace troupe;
using Catch::Matchers::Contains;
using joined = rendezvous::joined;

namespace {

rendezvous three() { return {{{10}, {20}, {30}}, "default_pg"}; }

/// Member 0 and then member 2 join; the error of the second.
error disagreement(const collective_call& first, const collective_call& second) {
  auto group = three();
  REQUIRE(group.join(0, {1}, {first, "a.py:1 in f"}));
  auto refused = group.join(2, {1}, {second, "b.py:2 in g"});
  REQUIRE_FALSE(refused);
  return refused.error();
}

void check_names_both(const error& why) {
  CHECK(why.code == errc::mismatch);
  for (auto* part : {"rank 10", "rank 30", "default_pg", "a.py:1 in f", "b.py:2 in g"})
    CHECK_THAT(why.context, Contains(part));
}

}  // namespace

TEST_CASE("a collective is complete when its last member joins") {
  auto group = three();
  CHECK(*group.join(1, {1}, {calls::all_reduce(4), ""}) == joined::waiting);
  CHECK(*group.join(0, {1}, {calls::all_reduce(4), "here"}) == joined::waiting);
  CHECK(*group.join(2, {1}, {calls::all_reduce(4), ""}) == joined::complete);
  auto members = group.take({1});
  REQUIRE(members.size() == 3);
  CHECK(members[0].call_site == "here");
  CHECK(members[2].call.count == 4);
  CHECK(group.open().empty());
}

TEST_CASE("sequences of one communicator fill up independently of each other") {
  auto group = three();
  for (std::uint64_t sequence : {1, 2, 3})
    CHECK(*group.join(0, {sequence}, {calls::barrier(), ""}) == joined::waiting);
  CHECK(group.join(1, {2}, {calls::barrier(), ""}));
  CHECK(*group.join(2, {2}, {calls::barrier(), ""}) == joined::complete);
  group.take({2});
  CHECK(group.missing(1) == std::vector<sequence_number>{{1}, {3}});
  auto open = group.open();
  REQUIRE(open.size() == 2);
  CHECK(open[0].sequence == sequence_number{1});
  CHECK(open[0].operation == "barrier");
  CHECK(open[0].joined == std::vector<std::uint32_t>{0});
  CHECK(open[0].missing == std::vector<std::uint32_t>{1, 2});
}

TEST_CASE("a complete collective is not open, even before it is taken") {
  rendezvous alone{{{4}}, "alone"};
  CHECK(*alone.join(0, {1}, {calls::all_reduce(1), ""}) == joined::complete);
  CHECK(alone.open().empty());
}

TEST_CASE("a disagreement is between the member that joins and the first, in each with its call") {
  auto group = three();
  REQUIRE(group.join(1, {1}, {calls::all_reduce(4), "first"}));
  REQUIRE_FALSE(group.join(2, {1}, {calls::all_reduce(5), "second"}));
  REQUIRE(group.disagreed().size() == 2);
  CHECK(group.disagreed()[0].first == 2);
  CHECK(group.disagreed()[0].second.call_site == "second");
  CHECK(group.disagreed()[1].first == 1);
  CHECK(group.disagreed()[1].second.call.count == 4);
}

TEST_CASE("different operations are told apart by both names") {
  auto why = disagreement(calls::all_reduce(4), calls::barrier());
  check_names_both(why);
  CHECK_THAT(why.context, Contains("all_reduce") && Contains("barrier"));
}

TEST_CASE("different sizes are told with both sizes") {
  auto why = disagreement(calls::all_reduce(12), calls::all_reduce(7));
  check_names_both(why);
  CHECK_THAT(why.context, Contains("12") && Contains("7") && Contains("sizes"));
}

TEST_CASE("different element types are told with both types") {
  auto why = disagreement(calls::all_reduce(4, element_type::f32),
                          calls::all_reduce(4, element_type::bf16));
  check_names_both(why);
  CHECK_THAT(why.context, Contains("f32") && Contains("bf16"));
}

TEST_CASE("different reductions are told with both reductions") {
  for (auto other : {reduction::max, reduction::avg}) {
    auto why = disagreement(calls::all_reduce(4, element_type::f16, reduction::sum),
                            calls::all_reduce(4, element_type::f16, other));
    check_names_both(why);
    CHECK_THAT(why.context, Contains("sum") && Contains(to_string(other)));
  }
}

TEST_CASE("different roots are told with both roots, whatever the rooted operation") {
  for (auto op : {operation::broadcast, operation::gather, operation::scatter}) {
    auto why = disagreement(calls::plain(op, 4, 1), calls::plain(op, 4, 2));
    check_names_both(why);
    CHECK_THAT(why.context, Contains("root 1") && Contains("root 2"));
  }
  check_names_both(disagreement(calls::reduce(4, 0), calls::reduce(4, 1)));
}

TEST_CASE("what does not matter to an operation may differ") {
  auto group = three();
  auto one = calls::all_reduce(4), other = calls::all_reduce(4);
  other.root = 2;
  other.tag = 9;
  CHECK(group.join(0, {1}, {one, "x"}));
  CHECK(group.join(1, {1}, {other, "y"}));
}

TEST_CASE("splits that fit each other complete, also with zeros") {
  rendezvous group{{{0}, {1}}, "pair"};
  CHECK(group.join(0, {1}, {calls::all_to_all({1, 1}, {1, 0}), ""}));
  CHECK(*group.join(1, {1}, {calls::all_to_all({0, 0}, {1, 0}), ""}) == joined::complete);
}

TEST_CASE("splits that do not fit are told with sender, receiver and both counts") {
  auto group = three();
  REQUIRE(group.join(0, {1}, {calls::all_to_all({1, 1, 5}, {1, 1, 1}), "a.py:1"}));
  REQUIRE(group.join(1, {1}, {calls::all_to_all({1, 1, 1}, {1, 1, 1}), "a.py:2"}));
  auto last = group.join(2, {1}, {calls::all_to_all({1, 1, 1}, {4, 1, 1}), "a.py:3"});
  REQUIRE_FALSE(last);
  CHECK(last.error().code == errc::mismatch);
  CHECK_THAT(last.error().context, Contains("rank 10 sends 5 elements to rank 30")
                                       && Contains("expects 4") && Contains("a.py:1")
                                       && Contains("a.py:3"));
}

TEST_CASE("even splits of different sizes do not fit") {
  rendezvous group{{{0}, {1}}, "pair"};
  REQUIRE(group.join(0, {1}, {calls::plain(operation::all_to_all, 4), ""}));
  CHECK_FALSE(group.join(1, {1}, {calls::plain(operation::all_to_all, 6), ""}));
}

TEST_CASE("a call that is impossible by itself fails its sequence and names its rank") {
  auto group = three();
  auto why = group.join(1, {1}, {calls::plain(operation::broadcast, 4, 7), "c.py:3"});
  REQUIRE_FALSE(why);
  CHECK_THAT(why.error().context, Contains("rank 20") && Contains("c.py:3") && Contains("root 7"));
  CHECK_FALSE(group.join(0, {1}, {calls::plain(operation::broadcast, 4, 0), ""}));
}

TEST_CASE("later joins of a failed sequence get its error, other sequences go on") {
  auto group = three();
  REQUIRE(group.join(0, {1}, {calls::all_reduce(1), ""}));
  auto second = group.join(1, {1}, {calls::all_reduce(2), ""});
  REQUIRE_FALSE(second);
  CHECK(group.has_failed({1}));
  CHECK_FALSE(group.has_failed({2}));
  auto third = group.join(2, {1}, {calls::all_reduce(1), ""});
  REQUIRE_FALSE(third);
  CHECK(third.error().context == second.error().context);
  CHECK(group.open().empty());
  for (std::uint32_t member : {0, 1}) CHECK(group.join(member, {2}, {calls::barrier(), ""}));
  CHECK(*group.join(2, {2}, {calls::barrier(), ""}) == joined::complete);
}

TEST_CASE("a sequence that was failed from outside keeps its first error") {
  auto group = three();
  REQUIRE(group.join(0, {1}, {calls::barrier(), ""}));
  group.fail({1}, {errc::lost_rank, "rank 20 is gone"});
  group.fail({1}, {errc::mismatch, "another"});
  auto late = group.join(2, {1}, {calls::barrier(), ""});
  REQUIRE_FALSE(late);
  CHECK(late.error().code == errc::lost_rank);
  CHECK(late.error().context == "rank 20 is gone");
}

TEST_CASE("a member that joins the same sequence again is refused, and harms no other") {
  auto group = three();
  REQUIRE(group.join(0, {1}, {calls::barrier(), ""}));
  auto again = group.join(0, {1}, {calls::barrier(), ""});
  REQUIRE_FALSE(again);
  CHECK(again.error().code == errc::bad_input);
  CHECK_THAT(again.error().context, Contains("rank 10"));
  CHECK(group.join(1, {1}, {calls::barrier(), ""}));
  CHECK(*group.join(2, {1}, {calls::barrier(), ""}) == joined::complete);
}
