// messages_test: stores, subgroups, sends and receives of ranks that share few slots.
#include <catch2/catch.hpp>

#include "tests/sim/actors/scripted_job.hpp"
#include "tests/unit/actors/calls.hpp"

using namespace troupe;
using namespace troupe::sim;
using namespace std::chrono_literals;

namespace {

void check_done(const job_outcome& outcome, const job_options& options) {
  INFO(outcome.text());
  CHECK(outcome.code() == errc::none);
  CHECK(outcome.running_max <= options.slots);
  CHECK(outcome.regions_busy == 0);
  CHECK(outcome.actors_left == 0);
}

std::vector<std::uint8_t> text(const std::string& from) { return {from.begin(), from.end()}; }
payload number(std::int64_t value) { return bytes_of(std::vector<std::int64_t>{value}); }
std::int64_t number_of(const answer& got) {
  auto values = values_of<std::int64_t>(got.bytes);
  return values.size() == 1 ? values[0] : -1;
}

}  // namespace

TEST_CASE("a barrier in the store lets 64 ranks through on 2 slots") {
  std::uint32_t through = 0, counted = 0;
  job_options options;
  options.world = 64;
  options.slots = 2;
  options.program = [&](scripted_rank& rank) -> script {
    co_await rank.compute(1ms);
    auto added = co_await rank.add("arrived", 1);
    if (++counted; added.reply.number == 64) co_await rank.set("all", "1");
    auto got = co_await rank.get("all");
    CHECK(got.reply.value == text("1"));
    CHECK(counted == 64);
    ++through;
  };
  auto outcome = run(options);
  check_done(outcome, options);
  CHECK(through == 64);
}

TEST_CASE("a wait in the store ends at its timeout, and says which keys it lacked") {
  error why;
  job_options options;
  options.world = 2;
  options.program = [&](scripted_rank& rank) -> script {
    if (rank.me.value == 1) {
      co_await rank.compute(5s);
      co_return;
    }
    store_request request;
    request.kind = store_kind::wait;
    request.keys = {"a", "b"};
    request.timeout_ns = 1'000'000'000;
    auto got = co_await rank.store(request);
    why = got.why;
  };
  auto outcome = run(options);
  check_done(outcome, options);
  CHECK(why.code == errc::timed_out);
  CHECK_THAT(why.context, Catch::Matchers::Contains("a, b"));
}

TEST_CASE("subgroups opened in different orders do not mix") {
  job_options options;
  options.world = 6;
  options.slots = 2;
  options.program = [](scripted_rank& rank) -> script {
    const std::int64_t me = rank.me.value;
    const std::vector<rank_id> everyone{{0}, {1}, {2}, {3}, {4}, {5}};
    const std::vector<rank_id> mine =
        me % 2 ? std::vector<rank_id>{{1}, {3}, {5}} : std::vector<rank_id>{{4}, {2}, {0}};
    communicator_id world, half, again;
    if (me < 3) {
      world = rank.open(everyone);
      half = rank.open(mine);
    } else {
      half = rank.open(mine);
      world = rank.open(everyone);
    }
    again = rank.open(mine, semantics::nccl);
    CHECK(half != again);
    auto a = rank.issue(half, calls::all_reduce(1), number(me));
    auto b = rank.issue(again, calls::all_reduce(1), number(100 * me));
    auto c = rank.issue(world, calls::all_reduce(1), number(1));
    auto all = co_await rank.wait(c);
    CHECK(number_of(all) == 6);
    auto other_half = co_await rank.wait(b);
    CHECK(number_of(other_half) == (me % 2 ? 900 : 600));
    auto my_half = co_await rank.wait(a);
    CHECK(number_of(my_half) == (me % 2 ? 9 : 6));
    auto order =
        co_await rank.wait(rank.issue(half, calls::plain(operation::all_gather, 1), number(me)));
    CHECK(values_of<std::int64_t>(order.bytes)
          == (me % 2 ? std::vector<std::int64_t>{1, 3, 5} : std::vector<std::int64_t>{4, 2, 0}));
  };
  auto outcome = run(options);
  check_done(outcome, options);
}

TEST_CASE("a token goes round a ring of ranks on any number of slots") {
  for (auto rules : {semantics::gloo, semantics::nccl})
    for (std::uint32_t slots : {1u, 2u, 8u}) {
      std::int64_t end = 0;
      job_options options;
      options.world = 8;
      options.slots = slots;
      options.program = [&](scripted_rank& rank) -> script {
        const auto group = rank.open_world(rules);
        const std::int32_t me = static_cast<std::int32_t>(rank.me.value);
        const std::int32_t next = (me + 1) % 8, previous = (me + 7) % 8;
        std::int64_t token = 0;
        for (int round = 0; round < 3; ++round) {
          if (me > 0 || round > 0) {
            auto got = co_await rank.wait(rank.issue(group, calls::recv(previous, 1)));
            CHECK(got.source == previous);
            token = number_of(got) + 1;
          }
          co_await rank.wait(rank.issue(group, calls::send(next, 1), number(token)));
        }
        if (me == 0) end = number_of(co_await rank.wait(rank.issue(group, calls::recv(7, 1))));
      };
      auto outcome = run(options);
      check_done(outcome, options);
      CHECK(end == 23);
    }
}

TEST_CASE("large messages travel in regions, which are free afterwards") {
  job_options options;
  options.world = 3;
  options.slots = 1;
  options.program = [](scripted_rank& rank) -> script {
    constexpr std::size_t count = 2000;
    const auto group = rank.open_world();
    const std::int32_t me = static_cast<std::int32_t>(rank.me.value);
    auto leased = co_await rank.lease(count * 8 + 64);
    const std::vector<std::int64_t> mine(count, me);
    auto sent = rank.issue(group, calls::send((me + 1) % 3, count),
                           rank.place(leased.region, bytes_of(mine)));
    auto got = co_await rank.wait(rank.issue(group, calls::recv(any_source, count)));
    CHECK(values_of<std::int64_t>(got.bytes) == std::vector<std::int64_t>(count, (me + 2) % 3));
    CHECK(got.source == (me + 2) % 3);
    co_await rank.wait(sent);
  };
  auto outcome = run(options);
  check_done(outcome, options);
}

TEST_CASE("sends complete before their recv up to the eager limit, and again once received") {
  nanos third{}, late{};
  job_options options;
  options.world = 2;
  options.slots = 2;
  options.eager_bytes = 16;
  options.program = [&](scripted_rank& rank) -> script {
    const auto group = rank.open_world();
    if (rank.me.value == 0) {
      for (std::int64_t n = 0; n < 2; ++n) {
        const auto bytes = number(n);
        co_await rank.wait(rank.issue(group, calls::send(1, 1), bytes));
      }
      const auto bytes = number(2);
      const auto sent = rank.issue(group, calls::send(1, 1), bytes);
      CHECK_FALSE(co_await rank.test(sent));
      co_await rank.wait(sent);
      third = rank.now();
      const auto more = number(3);
      co_await rank.wait(rank.issue(group, calls::send(1, 1), more));  // all there was is received
    } else {
      co_await rank.compute(1s);
      late = rank.now();
      for (std::int64_t n = 0; n < 4; ++n) {
        if (n == 3) co_await rank.compute(1s);
        auto got = co_await rank.wait(rank.issue(group, calls::recv(0, 1)));
        CHECK(number_of(got) == n);
      }
    }
  };
  auto outcome = run(options);
  check_done(outcome, options);
  CHECK(third >= late);
  CHECK(third < late + 1s);
}

TEST_CASE("messages with tags are received in another order under gloo") {
  job_options options;
  options.program = [](scripted_rank& rank) -> script {
    const auto group = rank.open_world();
    if (rank.me.value == 0) {
      auto one = rank.issue(group, calls::send(1, 1, 1), number(10));
      auto two = rank.issue(group, calls::send(1, 1, 2), number(20));
      co_await rank.wait(one);
      co_await rank.wait(two);
    } else {
      auto two = co_await rank.wait(rank.issue(group, calls::recv(0, 1, 2)));
      CHECK(number_of(two) == 20);
      auto one = co_await rank.wait(rank.issue(group, calls::recv(0, 1, 1)));
      CHECK(number_of(one) == 10);
    }
  };
  auto outcome = run(options);
  check_done(outcome, options);
}

TEST_CASE("what a rank sent before it ended is received after, also over a slow wire") {
  for (nanos delay : {nanos{0}, nanos{2ms}}) {
    job_options options;
    options.wire_delay_max = delay;
    options.program = [](scripted_rank& rank) -> script {
      const auto group = rank.open_world();
      if (rank.me.value == 0) {
        rank.issue(group, calls::send(1, 1), number(42));
        co_return;
      }
      co_await rank.compute(1s);
      auto got = co_await rank.wait(rank.issue(group, calls::recv(0, 1)));
      CHECK(number_of(got) == 42);
    };
    auto outcome = run(options);
    check_done(outcome, options);
  }
}

TEST_CASE("a receive that a rank never waits for harms nobody when it ends") {
  job_options options;
  options.program = [](scripted_rank& rank) -> script {
    const auto group = rank.open_world();
    if (rank.me.value == 0) rank.issue(group, calls::recv(1, 1));
    co_await rank.wait(rank.issue(group, calls::barrier()));
  };
  auto outcome = run(options);
  check_done(outcome, options);
}

TEST_CASE("who waits for a message of a rank that has ended is told of, others go on") {
  for (bool has_helper : {false, true}) {
    job_options options;
    options.world = 3;
    if (has_helper) options.have_helpers = {{1}};  // no thread of its own can help
    options.program = [&](scripted_rank& rank) -> script {
      const auto group = rank.open_world();
      if (rank.me.value == 0) co_return;
      const std::int32_t other = 3 - static_cast<std::int32_t>(rank.me.value);
      auto send = rank.issue(group, calls::send(other, 1), number(1));
      auto first = co_await rank.wait(rank.issue(group, calls::recv(other, 1)));
      CHECK(number_of(first) == 1);
      co_await rank.wait(send);
      if (rank.me.value == 2) co_return;
      co_await rank.compute(10ms);
      co_await rank.wait(rank.issue(group, calls::recv(0, 1)));
    };
    auto outcome = run(options);
    CHECK(outcome.code() == errc::deadlock);
    CHECK(outcome.ended < 2s);
    CHECK_THAT(outcome.text(), Catch::Matchers::Contains("rank 1 called recv")
                                   && Catch::Matchers::Contains("rank 0, which has ended"));
  }
}

TEST_CASE("messages that nobody waits for may be open when their peer ends") {
  job_options options;
  options.world = 2;
  options.slots = 2;
  options.program = [&](scripted_rank& rank) -> script {
    const auto group = rank.open_world();
    if (rank.me.value == 0) {
      rank.issue(group, calls::recv(1, 1));
      rank.issue(group, calls::send(1, 1), number(1));
    }
    co_await rank.wait(rank.issue(group, calls::barrier()));
    if (rank.me.value == 0) co_await rank.compute(5s);
  };
  auto outcome = run(options);
  check_done(outcome, options);
}
