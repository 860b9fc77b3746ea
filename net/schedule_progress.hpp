// schedule_progress: which operations of a schedule may go, as others start and end.
//
// An operation whose last dependency is satisfied gets its turn: an event at the latest of its
// dependencies' times, in the order in which such turns and the model's own events were made. What
// the model does at that turn is the model's; it says here what started and ended.
// Not here: time and resources (network_model.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "graph/goal/schedule.hpp"
#include "graph/large_array.hpp"
#include "net/event_queue.hpp"

namespace troupe {

/// The operation's turn, or what a model posted about it (`is_posted`).
struct simulation_event {
  std::uint64_t time_ns{};
  std::uint32_t order{};
  std::uint32_t subject{};  ///< see operation(), is_posted()

  static constexpr std::uint32_t posted_bit = std::uint32_t{1} << 31;
  std::uint32_t operation() const { return subject & ~posted_bit; }
  bool is_posted() const { return (subject & posted_bit) != 0; }
};

/// What an operation is about; from its turn on it is the model that says so.
enum class operation_phase : std::uint8_t {
  blocked,             ///< waits for other operations
  turn,                ///< its turn is made
  waits_for_cpu,       ///< its turn came, or its message
  waits_for_send_gap,  ///< of its nic
  waits_for_recv_gap,  ///< of its nic
  posted,              ///< a recv without its message
  flying,              ///< a send whose message is under way
  entering,            ///< … on the last stretch that its network models
  early,     ///< … arrived before an earlier one of the same source, destination and tag
  retrying,  ///< … asks again for a recv whose cpu or gap is free
  arrived,   ///< … waits for its recv
  matched,   ///< … has it; the recv waits for its cpu or gap
  done
};

/// Sixteen bytes an operation. Until its turn, `word` is when it may start and `count` how many
/// dependencies are left; from then on both are the model's, as `link` always is.
struct operation_state {
  std::uint64_t word{};
  std::uint32_t count{};
  std::uint32_t link : 28 {};
  std::uint32_t phase_bits : 4 {};

  operation_phase phase() const { return static_cast<operation_phase>(phase_bits); }
  void set(operation_phase phase) { phase_bits = static_cast<std::uint32_t>(phase) & 15; }
  std::uint32_t low() const { return static_cast<std::uint32_t>(word); }
  std::uint32_t high() const { return static_cast<std::uint32_t>(word >> 32); }
  void set_low(std::uint32_t value) { word = (word & ~std::uint64_t{0xffffffff}) | value; }
  void set_high(std::uint32_t value) { word = (word & 0xffffffff) | (std::uint64_t{value} << 32); }
};
static_assert(sizeof(operation_state) == 16);

class schedule_progress {
 public:
  explicit schedule_progress(const goal::schedule& of);

  const goal::schedule& schedule() const { return of_; }
  operation_state& state(std::uint32_t operation) { return states_[operation]; }
  const operation_state& state(std::uint32_t operation) const { return states_[operation]; }
  event_queue<simulation_event>& events() { return events_; }

  /// Turns at 0 for all that wait for none.
  void begin();
  /// Those that wait for its start only may come.
  void started(std::uint32_t operation, std::uint64_t at_ns) {
    if (of_[operation].has_start_dependents) satisfy(operation, at_ns, true);
  }
  /// Those that wait for its end may come. at_ns may lie ahead of now.
  void ended(std::uint32_t operation, std::uint64_t at_ns) {
    ++ended_;
    satisfy(operation, at_ns, false);
  }
  std::uint64_t ended_count() const { return ended_; }

  /// The model's own event about an operation.
  void post(std::uint32_t operation, std::uint64_t at_ns) {
    events_.push({at_ns, order_++, operation | simulation_event::posted_bit});
  }
  /// The place in line of what has no event of its own.
  std::uint32_t next_order() { return order_++; }

 private:
  void satisfy(std::uint32_t operation, std::uint64_t at_ns, bool on_start) {
    for (const auto later : of_.dependents(operation)) {
      if (later.waits_for_start() != on_start) continue;
      auto& state = states_[later.operation()];
      if (at_ns > state.word) state.word = at_ns;
      if (--state.count == 0) release(later.operation());
    }
  }
  void release(std::uint32_t operation) {
    states_[operation].set(operation_phase::turn);
    events_.push({states_[operation].word, order_++, operation});
  }

  const goal::schedule& of_;
  large_array<operation_state> states_;
  event_queue<simulation_event> events_;
  std::uint64_t ended_ = 0;
  std::uint32_t order_ = 0;  // a few an operation at most, so it does not overflow
};

}  // namespace troupe
