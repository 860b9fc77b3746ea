// group_findings_test: what a communicator says of wrong and doubtful calls names its ranks by
// their numbers in the run.
#include "actors/group_findings.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/actors/calls.hpp"

using namespace troupe;
using Catch::Matchers::Contains;

namespace {

struct group {
  rendezvous calls{{{30}, {10}, {20}}, "tp"};
  group_findings findings{{7}, calls};
};

}  // namespace

TEST_CASE("a finding names its ranks in ascending order, with their operations") {
  group tp;
  const auto sum = calls::all_reduce(4);
  const auto what = tp.findings.of(
      {errc::mismatch, "sizes differ"}, {3},
      {group_findings::caller(0, sum, "a:1"), group_findings::caller(1, calls::barrier(), "b:2")});
  CHECK(what.kind == errc::mismatch);
  CHECK(what.ranks == std::vector<rank_id>{{10}, {30}});
  CHECK(what.operations == std::vector<std::string>{"barrier", describe(sum)});
  CHECK(what.call_sites == std::vector<std::string>{"b:2", "a:1"});
  CHECK(what.communicator == communicator_id{7});
  CHECK(what.sequence == sequence_number{3});
  CHECK(what.text == "sizes differ");
}

TEST_CASE("who waits for a member that is gone is told of it, and of what it lacks") {
  group tp;
  REQUIRE(tp.calls.join(0, {1}, {calls::all_reduce(4), ""}));
  auto why = tp.findings.lack_of({errc::lost_rank, "rank 20 was killed"}, {1});
  CHECK(why.code == errc::lost_rank);
  CHECK_THAT(why.context, Contains("rank 20 was killed; all_reduce") && Contains("number 1 of tp")
                              && Contains("rank 30 waits"));
  REQUIRE(tp.calls.join(1, {1}, {calls::all_reduce(4), ""}));
  why = tp.findings.lack_of({errc::none, "rank 20 ended"}, {1});
  CHECK(why.code == errc::mismatch);
  CHECK_THAT(why.context, Contains("ranks 30, 10 wait"));
}

TEST_CASE("calls that met from two places are warned of with both places") {
  group tp;
  const auto sum = calls::all_reduce(4);
  CHECK_FALSE(tp.findings.complete({1}, {{sum, "a:1"}, {sum, "a:1"}, {sum, "a:1"}}));
  CHECK_FALSE(tp.findings.complete({2}, {{sum, "a:2"}, {sum, "a:2"}, {sum, "a:2"}}));
  const auto what = tp.findings.complete({3}, {{sum, "a:1"}, {sum, "a:2"}, {sum, "a:1"}});
  REQUIRE(what);
  CHECK(what->call_sites == std::vector<std::string>{"a:1", "a:2"});
  CHECK(what->ranks == std::vector<rank_id>{{30}, {10}});
  CHECK_THAT(what->text, Contains("suspected mismatch: rank 30 called all_reduce"));
}

TEST_CASE("unbatched messages are warned of once, and again when their pairs form a circle") {
  group tp;
  auto send = [&](std::uint32_t from, std::int32_t to) {
    return tp.findings.unbatched(from, calls::send(to, 1), "p.py:5");
  };
  const auto first = send(0, 1);
  REQUIRE(first);
  CHECK_THAT(first->text,
             Contains("rank 30 called send") && Contains("outside of batch_isend_irecv"));
  CHECK_FALSE(send(1, 2));
  const auto circle = send(2, 0);
  REQUIRE(circle);
  CHECK(circle->cycle.size() == 3);
  CHECK(circle->ranks == std::vector<rank_id>{{10}, {20}, {30}});
  CHECK_THAT(circle->text, Contains("suspected deadlock"));
  group two{{{{1}, {2}}, "pair"}, {{8}, two.calls}};
  CHECK_FALSE(two.findings.unbatched(0, calls::send(1, 1), ""));
}
