// slot_watch: does a rank that holds a slot use it, and has nothing happened for so long that it
// may be polling for what a rank without a slot would do?
//
// Not here: how processes are looked at (outside.hpp); whose turn is next (slot_table.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>

#include "actors/outside.hpp"
#include "messages/units.hpp"

namespace troupe {

/// Is a process asleep, or does it do little but sleep (a loop around short sleeps)?
class sleep_watch {
 public:
  /// A look at it. True: it slept at the look before too, and has used no time since, or at all of
  /// the last `looks`, and has used less than a third of the time.
  bool sleeps(nanos now, const process_activity::sample& seen) {
    if (!seen.asleep) {
      asleep_.clear();
      return false;
    }
    const bool used_nothing = !asleep_.empty() && asleep_.back().second == seen.cpu_ns;
    asleep_.emplace_back(now, seen.cpu_ns);
    if (asleep_.size() < looks) return used_nothing;
    const auto [since, cpu_ns] = asleep_.front();
    asleep_.pop_front();
    return used_nothing
           || 3 * (seen.cpu_ns - cpu_ns) < static_cast<std::uint64_t>((now - since).count());
  }

 private:
  static constexpr std::size_t looks = 5;
  std::deque<std::pair<nanos, std::uint64_t>> asleep_;  // when and with what CPU time, in a row
};

/// Do all threads of a rank that call us wait for others of its process, for so long that those
/// wait too, or poll?
class park_watch {
 public:
  /// A look at the rank's page: its word `parked`.
  bool is_long(nanos now, std::uint32_t parked) {
    if (parked != parked_) since_ = now;
    parked_ = parked;
    return parked != 0 && now - since_ >= long_park;
  }

 private:
  static constexpr nanos long_park{100'000'000};
  std::uint32_t parked_ = 0;
  nanos since_{};
};

/// How long all who hold a slot may go on without a word while others want one.
class patience {
 public:
  static constexpr nanos longest{30'000'000'000}, shortest{1'000'000'000};

  /// A rank asked for a slot or gave one up.
  void heard(nanos now) { since_ = now; }
  /// A turn ended by itself. One that was long is no polling: the next ones get more time.
  void ended(nanos length) {
    if (length >= limit_) limit_ = std::min(2 * limit_, longest);
  }
  bool is_over(nanos now) const { return now - since_ >= limit_; }
  /// A slot was lent; where one polls there may be more.
  void lent(nanos now) {
    since_ = now;
    limit_ = std::max(limit_ / 2, shortest);
  }

 private:
  nanos since_{}, limit_ = longest;
};

}  // namespace troupe
