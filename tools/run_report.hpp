// run_report: what a run came to, as DESIGN's object of --json and as the closing lines for a
// person.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "actors/requests.hpp"
#include "actors/run_tables.hpp"

namespace troupe {

struct run_account {
  const job_report& report;
  const run_tables& tables;
  std::uint32_t processes{}, slots{};
  std::string trace;  ///< path; empty: none
  std::uint64_t runner_cpu_ns{};
  std::uint64_t tensor_bytes_max{};  ///< 0: no capacity
};

nlohmann::ordered_json to_json(const run_account& run);
/// One to four lines, without "troupe: ".
std::string summary(const run_account& run);
/// --tensor-memory was given, and no rank counted what its tensors hold.
bool capacity_was_idle(const run_account& run);

}  // namespace troupe
