// trace_simulation: what `troupe simulate` says beyond a schedule's times: of a trace its
// collectives, iterations and ranks; of either, on request, the timeline.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "net/operation_times.hpp"
#include "net/trace_times.hpp"
#include "tools/schedule_input.hpp"

namespace troupe {

class trace_simulation {
 public:
  /// `model`: what the timeline says it was simulated with.
  static result<trace_simulation> make(schedule_input& input, const operation_times& times,
                                       const std::string& model);

  /// Goes through the ranks once. `timeline`: where their nodes go with the simulation's times, in
  /// the form of its ending (timeline_file.hpp); empty: nowhere.
  result<void> run(const std::string& timeline);
  /// Puts "collectives", "iterations" and "ranks" into a trace's report.
  void report(nlohmann::ordered_json& to) const;
  /// The same for a person; empty for a GOAL file.
  std::string text() const;

 private:
  trace_simulation(schedule_input& input, const operation_times& times, execution_graph tables)
      : input_(&input), times_(&times), tables_(std::move(tables)) {}
  result<std::vector<node>> timed_nodes(trace_times& to, rank_id rank) const;

  schedule_input* input_;
  const operation_times* times_;
  execution_graph tables_;
  std::vector<collective_time> collectives_;
  std::vector<std::uint64_t> iterations_ns_;
  std::vector<rank_time> ranks_;
};

}  // namespace troupe
