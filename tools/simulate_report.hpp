// simulate_report: what `troupe simulate` found, as DESIGN's object of --json and as text for a
// person.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "net/simulation.hpp"

namespace troupe {

/// errc::none when everything ended and was matched, else the first finding's kind.
errc outcome_of(const simulation_result& of);

/// "net loggops L 2500 …": the model and its parameters.
std::string net_text(const network_model& model);

struct simulated_run {
  const simulation_result& result;
  const network_model& model;
  std::string input;
  std::uint64_t wall_ns{}, cpu_ns{};
};
nlohmann::ordered_json to_json(const simulated_run& run);

/// Each host's time when `all_hosts` or there are at most 16.
std::string text_of(const simulated_run& run, bool all_hosts);

}  // namespace troupe
