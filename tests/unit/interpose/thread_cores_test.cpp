#include "interpose/client/thread_cores.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <thread>

using namespace troupe;

namespace {

cpu_set_t mine() {
  cpu_set_t cores;
  REQUIRE(::sched_getaffinity(0, sizeof cores, &cores) == 0);
  return cores;
}

bool are_mine(const cpu_set_t& expected) {
  const auto now = mine();
  return CPU_EQUAL(&now, &expected);
}

/// The first core of those.
cpu_set_t first_of(const cpu_set_t& cores) {
  int core = 0;
  while (!CPU_ISSET(core, &cores)) ++core;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  return one;
}

/// In a thread that may be bound, on a machine with a choice.
void in_thread(const std::function<void(const cpu_set_t& all)>& body) {
  std::thread([&] {
    const auto all = mine();
    if (CPU_COUNT(&all) < 2)
      WARN("one core: nothing to choose");
    else
      body(all);
  }).join();
}

void bind(const cpu_set_t& to) { REQUIRE(::sched_setaffinity(0, sizeof to, &to) == 0); }

}  // namespace

TEST_CASE("a thread that was bound while it was blocked has all its cores when it goes on") {
  in_thread([](const auto& all) {
    thread_cores cores;
    cores.remember({::gettid()});
    bind(first_of(all));
    cores.go_on();
    CHECK(are_mine(all));
  });
}

TEST_CASE("it may wake in vain and be bound again, or be named again while it is bound") {
  in_thread([](const auto& all) {
    thread_cores cores;
    cores.remember({::gettid()});
    bind(first_of(all));
    cores.unbind();
    CHECK(are_mine(all));
    bind(first_of(all));
    cores.remember({::gettid()});
    cores.go_on();
    CHECK(are_mine(all));
  });
}

TEST_CASE("what the program chose itself stays") {
  in_thread([](const auto& all) {
    thread_cores cores;
    const auto chosen = first_of(all);
    bind(chosen);
    cores.remember({::gettid()});
    cores.go_on();
    CHECK(are_mine(chosen));
    bind(all);
    cores.remember({::gettid()});
    cores.go_on();
    bind(chosen);  // afterwards
    cores.go_on();
    cores.unbind();
    CHECK(are_mine(chosen));
  });
}
