// wait_queue: operations that wait for one resource (a cpu, a gap), the one of lowest order first.
//
// A pairing heap whose links are the operations' own words. The first waiter has an event at the
// time `armed_ns`, when the resource is said to be free; nobody behind it is asked before it went.
// An event of another time, or of one that is not first any more, is void.
#pragma once

#include <cstdint>

#include "net/schedule_progress.hpp"

namespace troupe {

struct wait_queue {
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  std::uint64_t armed_ns = 0;
  std::uint32_t first = none;

  /// `order` is its turn's. Returns whether it is the first now.
  bool push(schedule_progress& of, std::uint32_t operation, std::uint32_t order) {
    auto& state = of.state(operation);
    state.set_low(none);
    state.set_high(none);
    state.count = order;
    first = merged(of, first, operation);
    return first == operation;
  }
  /// Removes the first.
  void pop(schedule_progress& of) {
    std::uint32_t pairs = none;  // merged two by two, the last pair first
    for (auto each = of.state(first).low(); each != none;) {
      const auto other = of.state(each).high();
      const auto following = other == none ? none : of.state(other).high();
      of.state(each).set_high(none);
      if (other != none) of.state(other).set_high(none);
      const auto pair = merged(of, each, other);
      of.state(pair).set_high(pairs);
      pairs = pair;
      each = following;
    }
    first = none;
    while (pairs != none) {
      const auto following = of.state(pairs).high();
      of.state(pairs).set_high(none);
      first = merged(of, first, pairs);
      pairs = following;
    }
  }

 private:
  /// Of a node `low` is its first child, `high` the next child of its parent.
  static std::uint32_t merged(schedule_progress& of, std::uint32_t a, std::uint32_t b) {
    if (a == none) return b;
    if (b == none) return a;
    if (of.state(b).count < of.state(a).count) std::swap(a, b);
    of.state(b).set_high(of.state(a).low());
    of.state(a).set_low(b);
    return a;
  }
};

}  // namespace troupe
