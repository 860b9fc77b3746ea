// actors_bench: what the actor system costs on either clock: messages a second with many actors,
// and how late timers fire on the wall clock. Medians over runs, with the least and the most.
#include <fmt/format.h>
#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include <algorithm>
#include <future>
#include <random>
#include <vector>

#include "actors/system.hpp"
#include "actors/virtual_scheduler.hpp"
#include "actors/wall_scheduler.hpp"

namespace {

using namespace troupe;
using clock = std::chrono::steady_clock;

constexpr int runs = 9;

void print(const char* what, const char* unit, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  fmt::print("{:<58} {:>9.2f} {}   ({:.2f} to {:.2f})\n", what, values[values.size() / 2], unit,
             values.front(), values.back());
}

struct hub_state {
  std::vector<caf::actor> members;
  std::uint32_t missing = 0, rounds = 0;
  clock::time_point start;
};

/// Sends a number to each member, waits for all of them to come back, and so on; says how long that
/// took, without the first round, in which the members are born.
caf::behavior hub(caf::stateful_actor<hub_state>* self, std::uint32_t members, std::uint32_t rounds,
                  std::promise<clock::duration>* done) {
  for (std::uint32_t n = 0; n < members; ++n)
    self->state.members.push_back(self->spawn([](caf::event_based_actor*) -> caf::behavior {
      return {[](std::uint32_t number) { return number; }};
    }));
  self->state.rounds = rounds + 1;
  auto out = [self] {
    self->state.missing = static_cast<std::uint32_t>(self->state.members.size());
    for (auto& member : self->state.members) self->send(member, self->state.rounds);
  };
  out();
  return {[=](std::uint32_t) {
    auto& state = self->state;
    if (--state.missing > 0) return;
    if (state.rounds == rounds + 1) state.start = clock::now();
    if (--state.rounds > 0) return out();
    for (auto& member : state.members) self->send_exit(member, caf::exit_reason::user_shutdown);
    state.members.clear();
    done->set_value(clock::now() - state.start);
    self->quit();
  }};
}

constexpr std::uint32_t members = 8192, rounds = 20;

template <class Config>
double million_messages_a_second() {
  Config config;
  caf::actor_system system{config};
  std::promise<clock::duration> done;
  auto over = done.get_future();
  system.spawn(hub, members, rounds, &done);
  if constexpr (std::is_same_v<Config, virtual_time_config>)
    dynamic_cast<virtual_scheduler&>(system.scheduler()).run();
  const std::chrono::duration<double> took = over.get();
  return 2.0 * members * rounds / took.count() / 1e6;
}

struct lateness {
  double p50_us, p99_us;
};

lateness timers(nanos spin) {
  constexpr std::size_t waits = 1000;
  wall_time_config config;
  caf::actor_system system{config};
  dynamic_cast<wall_scheduler&>(system.scheduler()).spin_before_deadlines(spin);
  std::promise<void> done;
  auto over = done.get_future();
  std::vector<double> late_us;
  system.spawn([&](caf::event_based_actor* self) -> caf::behavior {
    std::mt19937 random(1);
    // Waits begin when all are set: setting so many takes longer than the shortest.
    const auto start = self->clock().now() + nanos{5'000'000};
    for (std::size_t n = 0; n < waits; ++n) {
      const nanos wait{100'000 + random() % 9'900'000};
      const auto due = start + wait;
      self->delayed_send(self, due - self->clock().now(), due.time_since_epoch().count());
    }
    return {[&, self](std::int64_t due) {
      const auto late = self->clock().now().time_since_epoch().count() - due;
      late_us.push_back(static_cast<double>(late) / 1e3);
      if (late_us.size() < waits) return;
      done.set_value();
      self->quit();
    }};
  });
  over.wait();
  std::sort(late_us.begin(), late_us.end());
  return {late_us[waits / 2], late_us[waits * 99 / 100]};
}

}  // namespace

int main() {
  std::vector<double> on_virtual, on_wall;
  for (int n = 0; n < runs; ++n) {
    on_virtual.push_back(million_messages_a_second<virtual_time_config>());
    on_wall.push_back(million_messages_a_second<wall_time_config>());
  }
  print("8192 actors, out and in, virtual time", "M messages/s", on_virtual);
  print("8192 actors, out and in, wall clock", "M messages/s", on_wall);
  for (int spin_us : {0, 60}) {
    std::vector<double> p50, p99;
    for (int n = 0; n < runs; ++n) {
      const auto late = timers(std::chrono::microseconds{spin_us});
      p50.push_back(late.p50_us);
      p99.push_back(late.p99_us);
    }
    print(fmt::format("1000 timers at once, {} us of spin, late by, p50", spin_us).c_str(), "us",
          p50);
    print(fmt::format("1000 timers at once, {} us of spin, late by, p99", spin_us).c_str(), "us",
          p99);
  }
}
