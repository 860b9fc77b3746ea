// Who holds the slot when: threads, futures, sleeps, the store, a slot that was taken.
#include <catch2/catch.hpp>

#include <atomic>

#include "fake_port.hpp"

using namespace troupe;
using namespace std::chrono_literals;

namespace {

void until(const std::atomic<int>& step, int reached) {
  while (step < reached) std::this_thread::sleep_for(100us);
}

}  // namespace

TEST_CASE("a rank is blocked only when all its threads wait") {
  connected_rank rank;
  const auto world = rank.open();
  std::atomic<int> step = 0;
  rank.run([&](rank_client& client) {  // seated by its first wait, then runs
    RANK_CHECK(client.yield());
    step = 1;
    until(step, 2);
    RANK_CHECK(client.issue_and_wait(barrier_of(world)));
  });
  rank.port.expect<to_troupe::open_communicator>();
  rank.port.expect<to_troupe::yielded>();
  rank.port.grant();
  until(step, 1);
  rank.run([&](rank_client& client) { RANK_CHECK(client.issue_and_wait(barrier_of(world))); });
  const auto first = rank.port.expect<to_troupe::issue>();
  CHECK(rank.port.silent_for(150ms));
  step = 2;
  const auto second = rank.port.expect<to_troupe::issue>();
  auto blocked = rank.port.expect<to_troupe::blocked>();
  CHECK(blocked.operations == std::vector{first.operation, second.operation});
  // One is answered: that thread goes on and ends; the other is alone and waits still.
  rank.port.complete(first.operation);
  rank.port.expect<to_troupe::awaited>();
  blocked = rank.port.expect<to_troupe::blocked>();
  CHECK(blocked.operations == std::vector{second.operation});
  rank.port.complete(second.operation);
  rank.finish();
}

TEST_CASE("threads of a rank that only poll give the slot to others") {
  connected_rank rank;
  std::atomic<int> step = 0, ended = 0;
  auto poll = [&](rank_client& client) {
    while (step == 0) RANK_CHECK(client.yield());
    ++ended;
  };
  rank.run(poll);
  rank.port.expect<to_troupe::yielded>();
  rank.run(poll);
  for (int turn = 0; turn < 5; ++turn) {  // each sees the other run
    rank.port.grant();
    rank.port.expect<to_troupe::yielded>();
  }
  step = 1;
  while (ended < 2) {
    rank.port.grant();
    std::this_thread::sleep_for(1ms);
  }
  rank.finish();
}

TEST_CASE("a completion that comes with the slot held lets its thread go on") {
  connected_rank rank;
  const auto world = rank.open();
  std::atomic<int> step = 0;
  rank.run([&](rank_client& client) {
    RANK_CHECK(client.yield());
    step = 1;
    until(step, 2);
  });
  rank.port.expect<to_troupe::open_communicator>();
  rank.port.expect<to_troupe::yielded>();
  rank.port.grant();
  until(step, 1);
  std::atomic<bool> done = false;
  rank.run([&](rank_client& client) {
    RANK_CHECK(client.issue_and_wait(barrier_of(world)));
    done = true;
    until(step, 2);
  });
  rank.port.complete(rank.port.expect<to_troupe::issue>().operation);
  while (!done) std::this_thread::sleep_for(100us);
  CHECK(rank.port.silent_for(50ms));
  step = 2;
  rank.finish();
}

TEST_CASE("a further thread that waits for something else widens what the rank waits for") {
  connected_rank rank;
  const auto world = rank.open();
  rank.run([&](rank_client& client) { RANK_CHECK(client.issue_and_wait(barrier_of(world))); });
  rank.port.expect<to_troupe::open_communicator>();
  const auto first = rank.port.expect<to_troupe::issue>();
  rank.port.expect<to_troupe::blocked>();
  rank.port.holds_slot() = 0;
  rank.run([&](rank_client& client) { RANK_CHECK(client.issue_and_wait(barrier_of(world))); });
  rank.port.expect<to_troupe::take_slot>();  // it runs: it needs the slot
  CHECK(rank.port.silent_for(50ms));
  rank.port.grant();
  const auto second = rank.port.expect<to_troupe::issue>();
  CHECK(rank.port.expect<to_troupe::blocked>().operations
        == std::vector{first.operation, second.operation});
  rank.port.complete(second.operation);
  rank.port.expect<to_troupe::awaited>();
  rank.port.expect<to_troupe::blocked>();
  rank.port.complete(first.operation);
  rank.finish();
}

TEST_CASE("a slot that was taken is asked back before the program goes on") {
  connected_rank rank;
  const auto world = rank.open();
  rank.port.holds_slot() = 0;
  rank.run([&](rank_client& client) { RANK_CHECK(client.issue(barrier_of(world))); });
  rank.port.expect<to_troupe::open_communicator>();
  rank.port.expect<to_troupe::take_slot>();
  CHECK(rank.port.silent_for(50ms));
  rank.port.grant();
  rank.port.expect<to_troupe::issue>();
  rank.finish();
}

TEST_CASE("a slot taken while one thread waits and another sleeps unseen leaves no wait unsaid") {
  connected_rank rank;
  const auto world = rank.open();
  std::atomic<int> step = 0;
  rank.run([&](rank_client& client) {
    RANK_CHECK(client.yield());
    step = 1;
    until(step, 2);
    RANK_CHECK(client.yield());
  });
  rank.port.expect<to_troupe::open_communicator>();
  rank.port.expect<to_troupe::yielded>();
  rank.port.grant();
  until(step, 1);
  rank.run([&](rank_client& client) { RANK_CHECK(client.issue_and_wait(barrier_of(world))); });
  const auto issue = rank.port.expect<to_troupe::issue>();
  CHECK(rank.port.silent_for(80ms));
  rank.port.holds_slot() = 0;
  CHECK(rank.port.expect<to_troupe::blocked>().operations == std::vector{issue.operation});
  step = 2;
  rank.port.expect<to_troupe::take_slot>();
  rank.port.grant();
  rank.port.expect<to_troupe::yielded>();  // nobody else of this process runs
  rank.port.grant();
  CHECK(rank.port.expect<to_troupe::blocked>().operations == std::vector{issue.operation});
  rank.port.complete(issue.operation);
  rank.finish();
}

TEST_CASE("a watched future is completed by a thread of ours, whoever waits") {
  connected_rank rank;
  const auto world = rank.open();
  std::atomic<int> step = 0;
  char future[64];
  rank.run([&](rank_client& client) {
    auto barrier = barrier_of(world);
    std::atomic<std::thread::id> by{};
    barrier.done = [](void* argument, int, const char*, std::int32_t) {
      *static_cast<std::atomic<std::thread::id>*>(argument) = std::this_thread::get_id();
    };
    barrier.argument = &by;
    auto issued = client.issue(barrier);
    RANK_CHECK(client.watch_future(*issued, future, future + sizeof future));
    RANK_CHECK(client.watched(future + 10) == issued->value);
    RANK_CHECK(client.watched(future + sizeof future) == 0);
    step = 1;
    while (by.load() == std::thread::id{}) std::this_thread::sleep_for(100us);
    RANK_CHECK(by.load() != std::this_thread::get_id());
    while (client.watched(future)) std::this_thread::sleep_for(100us);
    RANK_CHECK(client.wait(*issued, 0));
    RANK_CHECK(client.yield());
  });
  rank.port.expect<to_troupe::open_communicator>();
  const auto issue = rank.port.expect<to_troupe::issue>();
  until(step, 1);
  rank.port.complete(issue.operation);
  CHECK(rank.port.expect<to_troupe::future_taken>().operation == issue.operation);
  rank.port.expect<to_troupe::awaited>();
  rank.port.expect<to_troupe::yielded>();
  rank.port.grant();
  rank.finish();
}

TEST_CASE("a wait in a future's condition variable gives the slot up and comes back with it") {
  connected_rank rank;
  const auto world = rank.open();
  char future[64];
  std::atomic<bool> done = false;
  rank.run([&](rank_client& client) {
    auto barrier = barrier_of(world);
    barrier.done = [](void* argument, int, const char*, std::int32_t) {
      *static_cast<std::atomic<bool>*>(argument) = true;
    };
    barrier.argument = &done;
    auto issued = client.issue(barrier);
    RANK_CHECK(client.watch_future(*issued, future, future + sizeof future));
    client.future_wait_begins(*issued);
    while (!done) std::this_thread::sleep_for(100us);
    RANK_CHECK(!client.future_wait_ended());
    // Woken for nothing: the slot is gone.
    issued = client.issue(barrier_of(world));
    RANK_CHECK(client.watch_future(*issued, future, future + sizeof future));
    client.future_wait_begins(*issued);
    RANK_CHECK(client.future_wait_ended());
    client.retake_slot();
  });
  rank.port.expect<to_troupe::open_communicator>();
  auto issue = rank.port.expect<to_troupe::issue>();
  rank.port.expect<to_troupe::future_taken>();
  CHECK(rank.port.expect<to_troupe::blocked>().operations == std::vector{issue.operation});
  rank.port.complete(issue.operation);
  issue = rank.port.expect<to_troupe::issue>();
  rank.port.expect<to_troupe::future_taken>();
  rank.port.expect<to_troupe::blocked>();
  rank.port.expect<to_troupe::take_slot>();
  rank.port.grant();
  rank.finish();
}

TEST_CASE("a future whose operation's callback goes on with another is waited for with that one") {
  connected_rank rank;
  const auto world = rank.open();
  struct {
    rank_client* client;
    rank_client::posting second;
    char future[64];
    std::atomic<bool> done = false;
  } shared;
  rank.run([&](rank_client& client) {
    shared.client = &client;
    shared.second = barrier_of(world);
    shared.second.argument = &shared;
    shared.second.done = [](void* argument, int, const char*, std::int32_t) {
      static_cast<decltype(shared)*>(argument)->done = true;
    };
    auto first = barrier_of(world);
    first.argument = &shared;
    first.done = [](void* argument, int, const char*, std::int32_t) {
      auto& all = *static_cast<decltype(shared)*>(argument);
      auto issued = all.client->issue(all.second);
      RANK_CHECK(all.client->watch_future(*issued, all.future, all.future + sizeof all.future));
    };
    auto issued = client.issue(first);
    RANK_CHECK(client.watch_future(*issued, shared.future, shared.future + sizeof shared.future));
    client.future_wait_begins(*issued);
    while (!shared.done) std::this_thread::sleep_for(100us);
    RANK_CHECK(!client.future_wait_ended());
  });
  rank.port.expect<to_troupe::open_communicator>();
  const auto first = rank.port.expect<to_troupe::issue>();
  rank.port.expect<to_troupe::future_taken>();
  CHECK(rank.port.expect<to_troupe::blocked>().operations == std::vector{first.operation});
  rank.port.complete(first.operation);
  const auto second = rank.port.expect<to_troupe::issue>();
  rank.port.expect<to_troupe::future_taken>();
  CHECK(rank.port.expect<to_troupe::blocked>().operations == std::vector{second.operation});
  rank.port.complete(second.operation);
  rank.finish();
}

TEST_CASE("who waits hears at once of a callback that the reader thread runs for it") {
  constexpr int rounds = 200;
  connected_rank rank;
  const auto world = rank.open();
  char future[64];
  std::atomic<int> by_reader = 0;
  std::atomic<std::thread::id> waiter;
  const std::pair<std::atomic<int>*, std::atomic<std::thread::id>*> seen{&by_reader, &waiter};
  rank.run([&](rank_client& client) {
    waiter = std::this_thread::get_id();
    for (int round = 0; round < rounds; ++round) {
      auto barrier = barrier_of(world);
      barrier.done = [](void* argument, int, const char*, std::int32_t) {
        const auto& [count, waits] = *static_cast<decltype(&seen)>(argument);
        if (std::this_thread::get_id() != waits->load()) ++*count;
        std::this_thread::sleep_for(2ms);
      };
      barrier.argument = const_cast<void*>(static_cast<const void*>(&seen));
      auto issued = client.issue(barrier);
      RANK_CHECK(client.watch_future(*issued, future, future + sizeof future));
      RANK_CHECK(client.wait(*issued, 0));
    }
  });
  const auto begin = std::chrono::steady_clock::now();
  rank.port.expect<to_troupe::open_communicator>();
  for (int round = 0; round < rounds; ++round) {
    if (round > 0) rank.port.expect<to_troupe::awaited>();
    const auto issue = rank.port.expect<to_troupe::issue>();
    rank.port.expect<to_troupe::future_taken>();
    rank.port.expect<to_troupe::blocked>();
    rank.port.complete(issue.operation);
  }
  rank.finish();
  // Otherwise it would look for itself every 50 ms.
  const auto most = by_reader.load() * 25ms + rounds * 10ms;
  INFO(by_reader.load() << " callbacks by the reader thread");
  CHECK(std::chrono::steady_clock::now() - begin < most);
}

TEST_CASE("a wait beyond its time says so, also when its future is done before the slot is back") {
  connected_rank rank;
  const auto world = rank.open();
  const char future[16] = {};
  std::string why;
  rank.run([&](rank_client& client) {
    auto issued = client.issue(barrier_of(world));
    RANK_CHECK(issued && client.watch_future(*issued, future, future + sizeof future));
    auto waited = client.wait(*issued, 1'000'000);
    RANK_CHECK(!waited && waited.error().code == errc::timed_out);
    if (!waited) why = waited.error().context;
  });
  rank.port.expect<to_troupe::open_communicator>();
  const auto issue = rank.port.expect<to_troupe::issue>();
  rank.port.expect<to_troupe::future_taken>();
  rank.port.expect<to_troupe::blocked>();
  rank.port.holds_slot() = 0;
  rank.port.expect<to_troupe::take_slot>();
  rank.port.complete(issue.operation);
  while (rank.client->watched(future)) std::this_thread::sleep_for(100us);  // and then forgotten
  rank.port.grant();
  rank.finish();
  CHECK(why == "barrier 1 was not done: Timed out after 1 ms, the time its caller gives it");
}

TEST_CASE("a sleep is said and ends with a slot, a thread without a seat just sleeps") {
  connected_rank rank;
  rank.run([&](rank_client& client) {
    RANK_CHECK(!client.sleep_begins());
    RANK_CHECK(client.yield());
    RANK_CHECK(client.sleep_begins());
    client.sleep_ended();
  });
  rank.port.expect<to_troupe::yielded>();
  rank.port.grant();
  const auto blocked = rank.port.expect<to_troupe::blocked>();
  CHECK(blocked.reason == release_reason::sleeping);
  CHECK(blocked.operations.empty());
  rank.port.holds_slot() = 0;
  rank.port.expect<to_troupe::take_slot>();
  rank.port.grant();
  rank.finish();
}

TEST_CASE(
    "a wait for another thread of the process is on the page, each with a number of its own") {
  connected_rank rank;
  std::vector<std::uint32_t> seen;
  rank.run([&](rank_client& client) {
    const auto look = [&] { seen.push_back(rank.port.parked()); };
    const char object = 0;
    RANK_CHECK(!client.park_begins(&object));  // no seat yet
    look();
    RANK_CHECK(client.yield());
    for (int times = 0; times < 2; ++times) {
      RANK_CHECK(client.park_begins(&object));
      look();
      RANK_CHECK(!client.park_ended());
      look();
    }
  });
  rank.port.expect<to_troupe::yielded>();
  rank.port.grant();
  rank.finish();
  REQUIRE(seen.size() == 5);
  CHECK(seen[0] == 0);
  CHECK(seen[1] != 0);
  CHECK(seen[2] == 0);
  CHECK(seen[3] != 0);
  CHECK(seen[3] != seen[1]);
  CHECK(seen[4] == 0);
}

TEST_CASE("the store: a get may block, an add is answered in turn or gives the slot up") {
  connected_rank rank;
  rank.run([&](rank_client& client) {
    auto got = client.ask_store({store_kind::get, {"key"}, {}, {}, 0, 7});
    RANK_CHECK(got && got->value == bytes_from("value"));
    auto sum = client.ask_store({store_kind::add, {"n"}, {}, {}, 3, 0});
    RANK_CHECK(sum && sum->number == 4);
    sum = client.ask_store({store_kind::add, {"n"}, {}, {}, 0, 0});
    RANK_CHECK(sum && sum->number == 5);
    auto late = client.ask_store({store_kind::wait, {"key"}, {}, {}, 0, 7});
    RANK_CHECK(!late && late.error().code == errc::timed_out);
  });
  auto written = rank.port.next_write();
  REQUIRE(written.size() == 2);  // one write
  const auto get = std::get<to_troupe::store>(written[0]);
  CHECK(get.request.kind == store_kind::get);
  CHECK(get.request.timeout_ns == 7);
  const auto blocked = std::get<to_troupe::blocked>(written[1]);
  CHECK(blocked.reason == release_reason::store);
  CHECK(blocked.operations == std::vector{get.operation});
  rank.port.holds_slot() = 1;
  rank.port.send(to_rank::stored{get.operation, {}, {bytes_from("value"), 0}});

  written = rank.port.next_write();
  REQUIRE(written.size() == 1);
  rank.port.send(to_rank::stored{std::get<to_troupe::store>(written[0]).operation, {}, {{}, 4}});
  const auto slow = rank.port.expect<to_troupe::store>();
  CHECK(rank.port.expect<to_troupe::blocked>().operations == std::vector{slow.operation});
  rank.port.send(to_rank::stored{slow.operation, {}, {{}, 5}});
  const auto wait = rank.port.expect<to_troupe::store>();
  rank.port.expect<to_troupe::blocked>();
  rank.port.send(to_rank::stored{wait.operation, {errc::timed_out, "no key"}, {}});
  rank.finish();
}

TEST_CASE("many threads share one connection") {
  connected_rank rank;
  const auto world = rank.open();
  constexpr int threads = 8, calls = 200;
  std::atomic<int> finished = 0;
  for (int t = 0; t < threads; ++t)
    rank.run([&](rank_client& client) {
      for (int i = 0; i < calls; ++i) RANK_CHECK(client.issue_and_wait(barrier_of(world)));
      ++finished;
    });
  int answered = 0;
  std::vector<operation_id> open;
  while (answered < threads * calls) {
    for (auto& frame : rank.port.next_write()) {
      if (auto* issue = std::get_if<to_troupe::issue>(&frame)) open.push_back(issue->operation);
      if (std::holds_alternative<to_troupe::take_slot>(frame)) rank.port.grant();
    }
    // Answers in the reverse order, whenever a few are there.
    if (open.size() >= 3 || answered + static_cast<int>(open.size()) == threads * calls
        || rank.port.silent_for(2ms))
      for (; !open.empty(); open.pop_back(), ++answered) rank.port.complete(open.back());
  }
  rank.finish();
  CHECK(finished == threads);
  CHECK(rank.losses.empty());
}
