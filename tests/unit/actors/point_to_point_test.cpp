// point_to_point_test: which send meets which recv, under each backend's rules.
#include "actors/point_to_point.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <random>

#include "tests/unit/actors/calls.hpp"

using namespace troupe;
using Catch::Matchers::Contains;
using ticket = point_to_point::ticket;

namespace {

struct messages {
  explicit messages(semantics rules) : table({{10}, {20}, {30}}, rules, "pg") {}

  std::optional<point_to_point::match> post(std::uint32_t rank, const collective_call& call) {
    auto posted = table.post(rank, call, "", ++last, met);
    REQUIRE(posted);
    return *posted;
  }
  error refused(std::uint32_t rank, const collective_call& call) {
    auto posted = table.post(rank, call, "site.py:5", ++last, met);
    REQUIRE_FALSE(posted);
    return posted.error();
  }

  point_to_point table;
  ticket last = 0;
  std::optional<ticket> met;
};

}  // namespace

TEST_CASE("a send and its recv meet, whoever comes first") {
  for (bool send_first : {true, false}) {
    messages all(semantics::gloo);
    auto first = send_first ? all.post(0, calls::send(1, 4)) : all.post(1, calls::recv(0, 4));
    CHECK_FALSE(first);
    auto match = send_first ? all.post(1, calls::recv(0, 4)) : all.post(0, calls::send(1, 4));
    REQUIRE(match);
    CHECK(match->send == (send_first ? 1u : 2u));
    CHECK(match->recv == (send_first ? 2u : 1u));
    CHECK(match->source == 0);
    CHECK(match->destination == 1);
    CHECK(all.table.open().empty());
  }
}

TEST_CASE("gloo and mpi match by tag, in any order of tags") {
  for (auto rules : {semantics::gloo, semantics::mpi}) {
    messages all(rules);
    all.post(0, calls::send(1, 4, 7));
    all.post(0, calls::send(1, 5, 8));
    CHECK(all.post(1, calls::recv(0, 5, 8))->send == 2);
    CHECK(all.post(1, calls::recv(0, 4, 7))->send == 1);
    all.post(0, calls::send(1, 4, 1));
    CHECK_FALSE(all.post(1, calls::recv(0, 4, 2)));
  }
}

TEST_CASE("nccl matches in order and ignores tags") {
  messages all(semantics::nccl);
  all.post(0, calls::send(1, 4, 7));
  all.post(0, calls::send(1, 4, 8));
  CHECK(all.post(1, calls::recv(0, 4, 8))->send == 1);
  CHECK(all.post(1, calls::recv(0, 4, 7))->send == 2);
}

TEST_CASE("a recv from anyone takes the message that was posted first") {
  messages all(semantics::gloo);
  all.post(2, calls::send(1, 4));
  all.post(0, calls::send(1, 4));
  auto match = all.post(1, calls::recv(any_source, 4));
  REQUIRE(match);
  CHECK(match->source == 2);
  CHECK_FALSE(all.post(1, calls::recv(any_source, 4, 3)));
  CHECK(all.post(1, calls::recv(any_source, 4))->source == 0);
}

TEST_CASE("messages for others are left alone") {
  messages all(semantics::nccl);
  all.post(0, calls::send(1, 4));
  CHECK_FALSE(all.post(2, calls::recv(0, 4)));
  CHECK_FALSE(all.post(1, calls::recv(2, 4)));
  CHECK(all.table.open().size() == 3);
}

TEST_CASE("a rank may send to itself") {
  messages all(semantics::gloo);
  all.post(1, calls::send(1, 2));
  auto match = all.post(1, calls::recv(1, 2));
  REQUIRE(match);
  CHECK(match->source == match->destination);
}

TEST_CASE("different sizes or types are told to both, with both calls") {
  messages all(semantics::gloo);
  all.post(0, calls::send(1, 4));
  auto why = all.refused(1, calls::recv(0, 5));
  CHECK(why.code == errc::mismatch);
  CHECK(all.met == ticket{1});
  CHECK_THAT(why.context, Contains("rank 10") && Contains("rank 20") && Contains("site.py:5")
                              && Contains("4") && Contains("5"));
  CHECK(all.table.open().empty());
  all.post(0, calls::send(1, 4, 0, element_type::f32));
  CHECK(all.refused(1, calls::recv(0, 4, 0, element_type::i32)).code == errc::mismatch);
}

TEST_CASE("a peer outside the group is refused and met by nobody") {
  messages all(semantics::gloo);
  for (std::int32_t peer : {3, 1000000, -2}) {
    auto why = all.refused(0, calls::send(peer, 4));
    CHECK(why.code == errc::mismatch);
    CHECK_FALSE(all.met);
    CHECK_THAT(why.context, Contains("rank 10") && Contains(std::to_string(peer)));
  }
  CHECK(all.refused(0, calls::send(any_source, 4)).code == errc::mismatch);
}

TEST_CASE("open calls are named, the oldest first") {
  messages all(semantics::gloo);
  all.post(1, calls::recv(0, 4, 6));
  all.post(2, calls::send(0, 4));
  auto open = all.table.open();
  REQUIRE(open.size() == 2);
  CHECK(open[0].number == 1);
  CHECK_THAT(open[0].text, Contains("rank 20") && Contains("rank 10") && Contains("6"));
  CHECK(open[1].group_rank == 2);
  CHECK(open[1].peer == 0);
}

TEST_CASE("what a withdrawn member would have received is handed back, all else stays") {
  messages all(semantics::gloo);
  all.post(0, calls::send(1, 4));     // 1: can still be received
  all.post(0, calls::recv(1, 4, 3));  // 2: its own
  all.post(2, calls::recv(0, 4, 9));  // 3: nobody sends
  all.post(2, calls::send(0, 4));     // 4: nobody receives
  all.post(2, calls::recv(1, 4));     // 5: not concerned
  CHECK(all.table.withdraw(0) == std::vector<ticket>{2});
  CHECK(all.post(1, calls::recv(0, 4))->send == 1);
  CHECK(all.table.open().size() == 3);
}

TEST_CASE("a call that its poster gave up meets nobody") {
  messages all(semantics::nccl);
  all.post(0, calls::send(1, 4));
  all.post(0, calls::send(1, 4));
  all.table.forget(1);
  all.table.forget(77);
  CHECK(all.post(1, calls::recv(0, 4))->send == 2);
  CHECK(all.table.open().empty());
}

TEST_CASE("messages of one pair and tag never overtake each other") {
  for (auto rules : {semantics::gloo, semantics::nccl}) {
    for (unsigned seed = 0; seed < 50; ++seed) {
      INFO("seed " << seed << ", " << to_string(rules));
      std::mt19937 random(seed);
      messages all(rules);
      const int tags = rules == semantics::nccl ? 1 : 3;
      // Per (source, destination, tag): tickets in order of posting, as they must be met.
      std::map<std::tuple<std::uint32_t, std::uint32_t, int>, std::deque<ticket>> sends, recvs;
      for (int step = 0; step < 300; ++step) {
        const std::uint32_t from = random() % 3, to = random() % 3;
        const int tag = static_cast<int>(random() % tags);
        const bool sending = random() % 2;
        const std::tuple key{from, to, tag};
        (sending ? sends : recvs)[key].push_back(all.last + 1);
        auto match = sending ? all.post(from, calls::send(static_cast<std::int32_t>(to), 1, tag))
                             : all.post(to, calls::recv(static_cast<std::int32_t>(from), 1, tag));
        CHECK(match.has_value() == (!sends[key].empty() && !recvs[key].empty()));
        if (!match) continue;
        CHECK(match->send == sends[key].front());
        CHECK(match->recv == recvs[key].front());
        sends[key].pop_front();
        recvs[key].pop_front();
      }
    }
  }
}
