// simulation: runs a schedule over a network model, from 0 to where nothing more happens.
//
// It depends on the schedule and the model alone: the same again gives the same, and any number of
// simulations may run in one process.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "graph/goal/schedule.hpp"
#include "net/network_model.hpp"
#include "net/stall_report.hpp"

namespace troupe {

struct simulation_result {
  std::uint64_t finish_ns{};
  std::vector<std::uint64_t> hosts_ns;  ///< [rank]
  std::uint64_t operations{};           ///< all of them
  std::uint64_t ended{};                ///< of these
  std::uint64_t matched{};              ///< messages received
  std::vector<stall_finding> findings;  ///< empty: everything ended and was matched
  std::vector<simulation_warning> warnings;
};

struct simulation_options {
  /// Now and then: simulated time, operations ended. False stops (errc::interrupted).
  std::function<bool(std::uint64_t now_ns, std::uint64_t ended)> on_progress = {};
};

/// Errors are those of the model's begin.
result<simulation_result> simulate(const goal::schedule& schedule, network_model& model,
                                   const simulation_options& options = {});

}  // namespace troupe
