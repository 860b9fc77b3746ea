// scripted_job: the product's whole cast in virtual time, with scripted ranks for processes.
//
// One call runs one job from the first process to the report, and says what could be seen from
// outside. The same options give the same run. A failing case prints its options with INFO.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/requests.hpp"
#include "tests/sim/actors/scripted_rank.hpp"

namespace troupe::sim {

struct job_options {
  std::uint32_t world = 2, slots = 1;
  /// Every rank's program; lives as long as the run.
  std::function<script(scripted_rank&)> program;
  unsigned seed = 1;
  nanos wire_delay_max{0};     ///< each frame takes up to this long, in order
  bool finds_sleepers = true;  ///< processes are looked at
  bool ignores_terminate = false;
  std::vector<rank_id> have_helpers;  ///< a thread of their process could still act by itself
  std::vector<rank_id> never_connect;
  struct kill {
    nanos at{};
    rank_id rank;
    std::int32_t signal{};
  };
  std::vector<kill> kills;  ///< by somebody outside
  std::optional<nanos> interrupt_at;
  std::uint64_t memory_bytes = 64 << 20, spill_bytes = 0;
  std::uint64_t eager_bytes = 0;
  std::string trace;  ///< a path; empty: nothing is recorded
  nanos limit = std::chrono::hours{2};
};

struct job_outcome {
  std::optional<job_report> report;  ///< none: the run did not end within the limit
  nanos ended{};                     ///< when the report came
  std::uint32_t running_max = 0;     ///< ranks that ran at one instant
  std::size_t regions_busy = 0;      ///< regions that somebody still is to read
  std::size_t actors_left = 0;
  std::uint64_t messages = 0;

  errc code() const { return report ? report->outcome : errc::internal; }
  /// The first finding's sentence.
  std::string text() const {
    return report && !report->findings.empty() ? report->findings.front().text : "";
  }
};

job_outcome run(const job_options& options);

}  // namespace troupe::sim
