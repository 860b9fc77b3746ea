// event_queue: what happens next, by time, and among equal times by `order`.
//
// A radix queue: an event lies by the highest byte in which its time differs from now's, and by the
// value of that byte; it moves to a lower byte at most eight times, usually once or twice. So its
// cost does not grow with how many events there are. Time never runs backwards: what is pushed is
// not earlier than what was popped last.
// Not here: what an event means.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "messages/assert.hpp"

namespace troupe {

/// `Event` has `time_ns` and `order`, is small and copied freely.
template <class Event>
class event_queue {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  /// The time of what was popped last.
  std::uint64_t now_ns() const { return now_; }

  void push(const Event& event) {
    TROUPE_ASSERT(event.time_ns >= now_, event.time_ns, now_);
    ++size_;
    if (event.time_ns == now_)
      put_now(event);
    else
      put_later(event);
  }

  Event pop() {
    TROUPE_ASSERT(size_ > 0);
    --size_;
    if (next_ == current_.size() && overtaking_.empty()) advance();
    if (!overtaking_.empty()
        && (next_ == current_.size() || is_earlier(overtaking_.front(), current_[next_]))) {
      std::pop_heap(overtaking_.begin(), overtaking_.end(), is_later);
      const auto event = overtaking_.back();
      overtaking_.pop_back();
      return event;
    }
    return current_[next_++];
  }

  /// Probably the event behind the next `distance`, if it is at the same time: for prefetching.
  const Event* ahead(std::size_t distance) const {
    return next_ + distance < current_.size() ? &current_[next_ + distance] : nullptr;
  }

 private:
  static constexpr int levels = 8, slots = 256;
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  static constexpr std::uint32_t per_chunk = (512 - 8) / sizeof(Event);

  struct chunk {
    std::uint32_t next, count;
    std::array<Event, per_chunk> events;
  };
  struct level {
    std::array<std::uint64_t, slots / 64> used{};
    std::array<std::uint32_t, slots> last{};  // the slot's last chunk, which names its first
  };

  static bool is_earlier(const Event& a, const Event& b) { return a.order < b.order; }
  static bool is_later(const Event& a, const Event& b) { return b.order < a.order; }

  void put_now(const Event& event) {
    if (current_.empty() || !(event.order < current_.back().order)) {
      current_.push_back(event);
    } else {
      overtaking_.push_back(event);
      std::push_heap(overtaking_.begin(), overtaking_.end(), is_later);
    }
  }

  void put_later(const Event& event) {
    const int at = (63 - std::countl_zero(event.time_ns ^ now_)) / 8;
    const auto slot = static_cast<std::uint32_t>(event.time_ns >> (8 * at)) & (slots - 1);
    auto& where = levels_[static_cast<std::size_t>(at)];
    used_levels_ |= 1u << at;
    auto& bits = where.used[slot / 64];
    const auto bit = std::uint64_t{1} << (slot % 64);
    if (!(bits & bit)) {
      bits |= bit;
      const auto fresh = take_chunk();
      chunks_[fresh].next = fresh;  // a ring: the last one's next is the first
      where.last[slot] = fresh;
    } else if (chunks_[where.last[slot]].count == per_chunk) {
      const auto fresh = take_chunk();
      chunks_[fresh].next = chunks_[where.last[slot]].next;
      chunks_[where.last[slot]].next = fresh;
      where.last[slot] = fresh;
    }
    auto& into = chunks_[where.last[slot]];
    into.events[into.count++] = event;
  }

  std::uint32_t take_chunk() {
    if (free_ == none) {
      chunks_.emplace_back();
      return static_cast<std::uint32_t>(chunks_.size() - 1);
    }
    const auto taken = free_;
    free_ = chunks_[taken].next;
    chunks_[taken].count = 0;
    return taken;
  }

  /// To the earliest time there is; its events become the current ones.
  void advance() {
    current_.clear();
    next_ = 0;
    const int at = std::countr_zero(used_levels_);
    auto& where = levels_[static_cast<std::size_t>(at)];
    std::uint32_t word = 0;
    while (where.used[word] == 0) ++word;
    const auto slot = word * 64 + static_cast<std::uint32_t>(std::countr_zero(where.used[word]));
    where.used[word] &= where.used[word] - 1;
    if (std::all_of(where.used.begin(), where.used.end(), [](auto bits) { return bits == 0; }))
      used_levels_ &= ~(1u << at);
    const auto last = where.last[slot], first = chunks_[last].next;
    now_ = earliest_of(first, last);
    // What is not now goes to lower bytes: into other slots than this one.
    for (auto each = first;;) {
      const auto following = chunks_[each].next;
      for (std::uint32_t i = 0; i < chunks_[each].count; ++i) {
        const auto event = chunks_[each].events[i];
        event.time_ns == now_ ? current_.push_back(event) : put_later(event);
      }
      chunks_[each].next = free_;
      free_ = each;
      if (each == last) break;
      each = following;
    }
    if (!std::is_sorted(current_.begin(), current_.end(), is_earlier))
      std::sort(current_.begin(), current_.end(), is_earlier);
  }

  std::uint64_t earliest_of(std::uint32_t first, std::uint32_t last) const {
    auto earliest = chunks_[first].events[0].time_ns;
    for (auto each = first;; each = chunks_[each].next) {
      for (std::uint32_t i = 0; i < chunks_[each].count; ++i)
        earliest = std::min(earliest, chunks_[each].events[i].time_ns);
      if (each == last) return earliest;
    }
  }

  std::uint64_t now_ = 0;
  std::size_t size_ = 0, next_ = 0;
  std::vector<Event> current_;     // of now, by order; those before next_ are gone
  std::vector<Event> overtaking_;  // of now, pushed after one of higher order: a heap
  std::uint32_t used_levels_ = 0;  // a bit each
  std::array<level, levels> levels_;
  std::vector<chunk> chunks_;
  std::uint32_t free_ = none;
};

}  // namespace troupe
