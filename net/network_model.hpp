// network_model: how long a schedule's operations take: the seam behind which LogGOPS stands, and
// every other model.
//
// The simulation gives a model each event whose time has come: an operation's turn (calc, send or
// recv), or what the model posted itself (a message under way). The model says to the progress what
// started and ended, when, and posts what comes later. It matches messages, so that a model may
// also decide by what the network did.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "messages/error.hpp"
#include "net/schedule_progress.hpp"

namespace troupe {

/// Something that may be wrong with a schedule though it was simulated.
struct simulation_warning {
  std::string kind;
  std::uint64_t count{};
  std::string text;  ///< of the first
};

class network_model {
 public:
  virtual ~network_model() = default;

  /// Once, before the first event; the progress outlives the model's use.
  virtual result<void> begin(schedule_progress& progress) = 0;
  /// Its time has come, in order.
  virtual void handle(const simulation_event& event) = 0;
  /// A hint that an event comes soon.
  virtual void prepare(const simulation_event&) {}

  /// When the rank's last operation so far ended.
  virtual std::uint64_t finish_ns(std::uint32_t rank) const = 0;
  virtual std::uint64_t matched() const = 0;
  /// Did it end, as those see it that wait for its end? (An eager send ends before it is received.)
  virtual bool has_ended(std::uint32_t operation) const = 0;
  virtual std::vector<simulation_warning> warnings() const { return {}; }
  /// The model's name and every parameter, for the report.
  virtual std::vector<std::pair<std::string, std::string>> description() const = 0;
};

}  // namespace troupe
