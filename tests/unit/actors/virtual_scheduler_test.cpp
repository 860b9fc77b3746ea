// virtual_scheduler_test: time jumps from timer to timer, in order, and only inside run().
#include "actors/virtual_scheduler.hpp"

#include <caf/actor_registry.hpp>
#include <catch2/catch.hpp>
#include <random>

#include "actors/system.hpp"
#include "tests/unit/actors/scheduler_actors.hpp"

using namespace troupe;
using namespace std::chrono_literals;

namespace {

struct virtual_system {
  virtual_time_config config;
  caf::actor_system system{config};
  virtual_scheduler& scheduler = dynamic_cast<virtual_scheduler&>(system.scheduler());
  ~virtual_system() { scheduler.run(); }  // the system waits for its actors, and nothing else runs

  void later(const caf::actor& to, nanos after, int number) {
    scheduler.clock().schedule_message(
        scheduler.clock().now() + after, caf::actor_cast<caf::strong_actor_ptr>(to),
        caf::make_mailbox_element(nullptr, caf::make_message_id(), {}, number));
  }
};

}  // namespace

TEST_CASE("nothing runs outside of run") {
  virtual_system on;
  std::vector<int> heard;
  auto listener = spawn_listener(on.system, [&](int number) { heard.push_back(number); });
  caf::anon_send(listener, 1);
  CHECK(heard.empty());
  on.scheduler.drain();
  CHECK(heard == std::vector<int>{1});
  stop(listener);
}

TEST_CASE("messages are handled in the order they were sent") {
  virtual_system on;
  std::vector<int> heard;
  auto a = spawn_listener(on.system, [&](int number) { heard.push_back(number); });
  auto b = spawn_listener(on.system, [&](int number) { heard.push_back(100 + number); });
  for (int n = 0; n < 3; ++n) caf::anon_send(n % 2 ? b : a, n);
  on.scheduler.run();
  CHECK(heard == std::vector<int>{0, 2, 101});  // a's turn, then b's
  stop(a);
  stop(b);
}

TEST_CASE("timers fire in the order of their times, and the clock shows their times") {
  virtual_system on;
  std::vector<std::pair<int, nanos>> heard;
  auto listener = spawn_listener(
      on.system, [&](int number) { heard.emplace_back(number, on.scheduler.now()); });
  const auto start = on.scheduler.now();
  for (int n : {5, 1, 4, 2, 3}) on.later(listener, std::chrono::hours{n}, n);
  on.scheduler.run();
  REQUIRE(heard.size() == 5);
  for (int n = 1; n <= 5; ++n) {
    CHECK(heard[static_cast<std::size_t>(n) - 1].first == n);
    CHECK(heard[static_cast<std::size_t>(n) - 1].second == start + std::chrono::hours{n});
  }
  stop(listener);
}

TEST_CASE("timers of one instant fire in the order they were set") {
  virtual_system on;
  std::vector<int> heard;
  auto listener = spawn_listener(on.system, [&](int number) { heard.push_back(number); });
  for (int n = 0; n < 20; ++n) on.later(listener, 1ms, n);
  on.scheduler.run();
  for (int n = 0; n < 20; ++n) CHECK(heard.at(static_cast<std::size_t>(n)) == n);
  stop(listener);
}

TEST_CASE("run_until goes no further, and the clock stands there") {
  virtual_system on;
  std::vector<int> heard;
  auto listener = spawn_listener(on.system, [&](int number) { heard.push_back(number); });
  on.later(listener, 10ms, 1);
  on.later(listener, 20ms, 2);
  on.scheduler.run_until(15ms);
  CHECK(heard == std::vector<int>{1});
  CHECK(on.scheduler.now() == 15ms);
  on.scheduler.run_until(5ms);
  CHECK(on.scheduler.now() == 15ms);
  on.scheduler.run();
  CHECK(heard == std::vector<int>{1, 2});
  stop(listener);
}

TEST_CASE("an answered request does not make time jump to its timeout") {
  virtual_system on;
  auto echo = spawn_echo(on.system);
  int answered = 0;
  auto asker = on.system.spawn([&](caf::event_based_actor* self) {
    self->request(echo, 3600s, 7).then([&](int number) { answered = number; });
  });
  on.scheduler.run();
  CHECK(answered == 7);
  CHECK(on.scheduler.now() < 1s);
  stop(echo);
}

TEST_CASE("the same program runs the same way, message by message") {
  auto trace = [] {
    virtual_system on;
    std::mt19937 random(4);
    std::vector<std::pair<int, nanos>> heard;
    std::vector<caf::actor> all;
    for (int n = 0; n < 10; ++n)
      all.push_back(spawn_listener(on.system, [&, n](int hops) {
        heard.emplace_back(n, on.scheduler.now());
        if (hops == 0) return;
        auto& next = all[random() % all.size()];
        if (random() % 2)
          caf::anon_send(next, hops - 1);
        else
          on.later(next, nanos{random() % 1000}, hops - 1);
      }));
    for (auto& one : all) caf::anon_send(one, 50);
    on.scheduler.run();
    for (auto& one : all) stop(one);
    on.scheduler.run();
    CHECK(on.system.registry().running() == 0);
    return heard;
  };
  const auto first = trace();
  CHECK(first.size() == 510);
  CHECK(trace() == first);
}
