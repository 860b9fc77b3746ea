// outside: the small interfaces through which the cast touches processes; tests replace them.
#pragma once

#include <cstdint>
#include <vector>

#include "messages/wire.hpp"

namespace troupe {

/// The connection to one rank's process. Used by its rank_port only.
class rank_connection {
 public:
  virtual ~rank_connection() = default;
  /// Never blocks: what the socket does not take now is sent later. After close() or a loss:
  /// nothing.
  virtual void send(const to_rank::frame& frame) = 0;
  /// Sends with the pools' descriptors attached.
  virtual void send_welcome(const to_rank::welcome& welcome,
                            const std::vector<int>& descriptors) = 0;
  virtual void close() = 0;
};

/// The processes of the run.
class process_control {
 public:
  virtual ~process_control() = default;
  /// Sends a signal to every rank that lives.
  virtual void signal_all(std::int32_t number) = 0;
};

/// What a process has done so far, as the kernel counts it.
class process_activity {
 public:
  virtual ~process_activity() = default;
  struct sample {
    std::uint64_t cpu_ns{};  ///< of all its threads
    bool asleep{};           ///< every thread waits (interruptibly)
    std::uint32_t threads{};
  };
  /// Reads it now; a process that is gone is neither asleep nor has used any time. Thread-safe.
  virtual sample look(std::int32_t pid) = 0;
  /// Could the process act although these of its threads wait for us? So it is while another thread
  /// runs or waits for anything but a thread of the same process, or while a timer's signal is
  /// handled; where it takes signals, also while any other is that does not just ask it to end.
  /// Thread-safe.
  virtual bool may_act(std::int32_t pid, const std::vector<std::int32_t>& waiting,
                       bool takes_signals) = 0;
};

/// On which core a rank goes on.
class thread_placement {
 public:
  virtual ~thread_placement() = default;
  /// These sleeping threads of a rank wake on the slot's core, where they may use it. A few
  /// microseconds.
  virtual void place(const std::vector<std::int32_t>& threads, slot_id slot) = 0;
};

}  // namespace troupe
