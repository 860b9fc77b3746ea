// driven_clock: what both schedulers' clocks share: CAF's timer queue, opened for a loop that
// drives it itself.
#pragma once

#include <caf/detail/simple_actor_clock.hpp>

#include <cstddef>
#include <optional>

namespace troupe {

class driven_clock : public caf::detail::simple_actor_clock {
 public:
  /// When the next timer is due; none: no timer is set.
  std::optional<time_point> next_due() const {
    if (schedule_.empty()) return std::nullopt;
    return schedule_.begin()->first;
  }
  /// Fires what is due at now(). Returns how many timers that were.
  std::size_t fire_due() { return schedule_.empty() ? 0 : trigger_expired_timeouts(); }
};

}  // namespace troupe
