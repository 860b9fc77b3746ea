// slot_cores_test: threads of this very process, placed as those of a rank.
#include "actors/slot_cores.hpp"

#include <sched.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <thread>

using namespace troupe;

namespace {

cpu_set_t cores_of(std::int32_t thread) {
  cpu_set_t cores;
  REQUIRE(::sched_getaffinity(thread, sizeof cores, &cores) == 0);
  return cores;
}

int nth(const cpu_set_t& cores, int n) {
  int core = 0;
  while (!CPU_ISSET(core, &cores) || n-- > 0) ++core;
  return core;
}

cpu_set_t only(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  return cores;
}

}  // namespace

TEST_CASE("where slots are cores, a thread is bound to its slot's") {
  const auto ours = cores_of(0);
  const auto count = CPU_COUNT(&ours);
  const auto placement = make_slot_cores(static_cast<std::uint32_t>(count));
  REQUIRE(placement);
  std::thread([&] {
    for (int slot = 0; slot < count; ++slot) {
      CHECK(::sched_setaffinity(0, sizeof ours, &ours) == 0);
      placement->place({::gettid()}, slot_id{static_cast<std::uint32_t>(slot)});
      const auto now = cores_of(0), expected = only(nth(ours, slot));
      CHECK(CPU_EQUAL(&now, &expected));
    }
  }).join();
}

TEST_CASE("a thread that may not use the slot's core stays where it is") {
  const auto ours = cores_of(0);
  const auto count = CPU_COUNT(&ours);
  if (count < 2) {
    WARN("one core: nothing to choose");
    return;
  }
  const auto placement = make_slot_cores(static_cast<std::uint32_t>(count));
  std::thread([&] {
    const auto chosen = only(nth(ours, 1));
    CHECK(::sched_setaffinity(0, sizeof chosen, &chosen) == 0);
    placement->place({::gettid()}, slot_id{0});
    const auto now = cores_of(0);
    CHECK(CPU_EQUAL(&now, &chosen));
  }).join();
}

TEST_CASE("fewer or more slots than cores, and threads that are gone, are left to the kernel") {
  const auto ours = cores_of(0);
  const auto count = static_cast<std::uint32_t>(CPU_COUNT(&ours));
  CHECK_FALSE(make_slot_cores(count + 1));
  CHECK_FALSE(make_slot_cores(count - 1));
  const auto placement = make_slot_cores(count);
  placement->place({0x7fffffff}, slot_id{0});
  placement->place({::gettid()}, slot_id{count});
  const auto now = cores_of(0);
  CHECK(CPU_EQUAL(&now, &ours));
}
