// wall_scheduler_test: one thread runs all actors and fires all timers, in order and never early;
// any thread may send or set a timer.
#include "actors/wall_scheduler.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <ctime>
#include <future>
#include <set>

#include "actors/system.hpp"
#include "tests/unit/actors/scheduler_actors.hpp"

using namespace troupe;
using namespace std::chrono_literals;

namespace {

struct wall_system {
  wall_time_config config;
  caf::actor_system system{config};
  wall_scheduler& scheduler = dynamic_cast<wall_scheduler&>(system.scheduler());

  /// From this thread, which is not the scheduler's.
  void later(const caf::actor& to, nanos after, int number) {
    at(to, scheduler.clock().now() + after, number);
  }
  void at(const caf::actor& to, caf::actor_clock::time_point when, int number) {
    scheduler.clock().schedule_message(
        when, caf::actor_cast<caf::strong_actor_ptr>(to),
        caf::make_mailbox_element(nullptr, caf::make_message_id(), {}, number));
  }
};

/// Readable after ring(), served once for it.
class bell final : public event_source {
 public:
  ~bell() override { ::close(descriptor_); }
  void ring() {
    const std::uint64_t one = 1;
    REQUIRE(::write(descriptor_, &one, sizeof one) == sizeof one);
  }
  int descriptor() const override { return descriptor_; }
  void serve() override {
    std::uint64_t rung;
    if (::read(descriptor_, &rung, sizeof rung) != sizeof rung) return;
    in = std::this_thread::get_id();
    served = static_cast<int>(rung) + served;
  }
  nanos spin() const override { return patience; }
  std::atomic<int> served = 0;
  std::atomic<std::thread::id> in;
  nanos patience{};

 private:
  int descriptor_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
};

constexpr auto long_enough = 120s;  // a machine may be busy; nothing here needs a second

}  // namespace

TEST_CASE("messages from several threads all arrive, each thread's in order, in one thread") {
  wall_system on;
  constexpr int threads = 4, each = 2000;
  std::vector<int> heard[threads];
  std::set<std::thread::id> in;
  std::promise<void> done;
  int count = 0;
  auto listener = spawn_listener(on.system, [&](int number) {
    heard[number / each].push_back(number % each);
    in.insert(std::this_thread::get_id());
    if (++count == threads * each) done.set_value();
  });
  {
    std::vector<std::jthread> senders;
    for (int n = 0; n < threads; ++n)
      senders.emplace_back([&, n] {
        for (int i = 0; i < each; ++i) caf::anon_send(listener, n * each + i);
      });
  }
  REQUIRE(done.get_future().wait_for(long_enough) == std::future_status::ready);
  CHECK(in.size() == 1);
  CHECK_FALSE(in.contains(std::this_thread::get_id()));
  for (auto& mine : heard) {
    CHECK(mine.size() == each);
    CHECK(std::is_sorted(mine.begin(), mine.end()));
  }
  stop(listener);
}

TEST_CASE("timers fire in the order of their times and never early") {
  for (nanos spin : {nanos{0}, nanos{60us}}) {
    wall_system on;
    on.scheduler.spin_before_deadlines(spin);
    std::vector<std::pair<int, caf::actor_clock::time_point>> heard;
    std::promise<void> done;
    constexpr int count = 200;
    auto listener = spawn_listener(on.system, [&](int number) {
      heard.emplace_back(number, on.scheduler.clock().now());
      if (heard.size() == count) done.set_value();
    });
    const auto first = on.scheduler.clock().now() + 500ms;  // later than this thread may be kept
    for (int n = 0; n < count; ++n) {
      const int order = n * 77 % count;  // a permutation
      on.at(listener, first + order * 50us, order);
    }
    REQUIRE(done.get_future().wait_for(long_enough) == std::future_status::ready);
    for (int n = 0; n < count; ++n) {
      const auto& [number, at] = heard[static_cast<std::size_t>(n)];
      CHECK(number == n);
      CHECK(at >= first + n * 50us);
    }
    stop(listener);
  }
}

TEST_CASE("a timer set by another thread wakes a scheduler that sleeps for ever") {
  wall_system on;
  std::promise<void> done;
  auto listener = spawn_listener(on.system, [&](int) { done.set_value(); });
  caf::anon_send(listener, 0);
  done.get_future().wait();
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(5ms);  // it sleeps now, without a deadline
    done = {};
    on.later(listener, 2ms, 1);
    REQUIRE(done.get_future().wait_for(long_enough) == std::future_status::ready);
  }
  stop(listener);
}

TEST_CASE("an earlier timer set by another thread is not kept waiting by a later one") {
  wall_system on;
  std::promise<int> first;
  bool told = false;
  auto listener = spawn_listener(on.system, [&](int number) {
    if (!std::exchange(told, true)) first.set_value(number);
  });
  on.later(listener, 1h, 1);
  std::this_thread::sleep_for(5ms);
  on.later(listener, 2ms, 2);
  auto number = first.get_future();
  REQUIRE(number.wait_for(long_enough) == std::future_status::ready);
  CHECK(number.get() == 2);
  stop(listener);
}

TEST_CASE("timers are fired while actors keep each other busy") {
  wall_system on;
  std::promise<void> done;
  std::atomic<bool> over = false;
  caf::actor other;
  auto busy = spawn_listener(on.system, [&](int) {
    if (!over) caf::anon_send(other, 0);
  });
  other = spawn_listener(on.system, [&](int) {
    if (!over) caf::anon_send(busy, 0);
  });
  auto listener = spawn_listener(on.system, [&](int) { done.set_value(); });
  caf::anon_send(busy, 0);
  on.later(listener, 5ms, 1);
  CHECK(done.get_future().wait_for(long_enough) == std::future_status::ready);
  over = true;
  for (const auto& one : {busy, other, listener}) stop(one);
  on.system.await_all_actors_done();
}

TEST_CASE("a system that is idle uses no processor") {
  wall_system on;
  auto listener = spawn_listener(on.system, [](int) {});
  caf::anon_send(listener, 0);
  std::this_thread::sleep_for(20ms);
  auto cpu = [] {
    timespec spent{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return std::chrono::seconds{spent.tv_sec} + nanos{spent.tv_nsec};
  };
  const auto before = cpu();
  std::this_thread::sleep_for(200ms);
  CHECK(cpu() - before < 20ms);
  stop(listener);
}

TEST_CASE("a source of events is served in the actors' thread, idle or busy, until it is let go") {
  wall_system on;
  bell source;
  std::promise<std::thread::id> actors_thread;
  auto listener =
      spawn_listener(on.system, [&](int) { actors_thread.set_value(std::this_thread::get_id()); });
  auto served = [&](int times) {
    const auto until = std::chrono::steady_clock::now() + long_enough;
    while (source.served < times && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(1ms);
    return source.served == times;
  };

  on.scheduler.watch(&source);
  source.ring();
  REQUIRE(served(1));
  caf::anon_send(listener, 0);
  CHECK(source.in == actors_thread.get_future().get());

  caf::actor busy;  // never without a message
  std::atomic<bool> enough = false;
  busy = spawn_listener(on.system, [&](int number) {
    if (!enough) caf::anon_send(busy, number);
  });
  caf::anon_send(busy, 0);
  source.ring();
  CHECK(served(2));
  enough = true;

  on.scheduler.watch(nullptr);
  source.ring();
  std::this_thread::sleep_for(5ms);
  CHECK(source.served == 2);
  stop(busy);
  stop(listener);
  on.system.await_all_actors_done();
}

TEST_CASE("a scheduler that looks for events instead of sleeping still hears messages and timers") {
  wall_system on;
  bell source;
  source.patience = 1h;  // it never sleeps
  std::atomic<int> heard = 0;
  auto listener = spawn_listener(on.system, [&](int number) { heard = number; });
  auto becomes = [](const std::atomic<int>& value, int wanted) {
    const auto until = std::chrono::steady_clock::now() + long_enough;
    while (value != wanted && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(1ms);
    return value == wanted;
  };
  on.scheduler.watch(&source);
  for (int round = 1; round <= 3; ++round) {
    source.ring();
    REQUIRE(becomes(source.served, round));
    caf::anon_send(listener, 10 * round);
    REQUIRE(becomes(heard, 10 * round));
    on.later(listener, 2ms, 10 * round + 1);
    REQUIRE(becomes(heard, 10 * round + 1));
  }
  on.scheduler.watch(nullptr);
  stop(listener);
  on.system.await_all_actors_done();
}
