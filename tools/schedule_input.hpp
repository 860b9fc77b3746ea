// schedule_input: the schedule of a verb's input: a GOAL file, or a trace expanded to one.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "graph/goal/schedule.hpp"
#include "graph/goal/trace_expansion.hpp"
#include "graph/prism_trace_reader.hpp"

namespace troupe {

/// How a trace becomes a schedule, as a person says it.
struct expansion_choice {
  std::string algorithm;
  std::uint32_t gpus_per_node = 1;
  std::uint64_t inside_latency_ns = 0;
  double inside_gb = 0;  ///< GB/s; 0: no time a byte
  double reduce_per_byte_ns = 0;
  /// Was any of it said?
  bool is_default() const { return *this == expansion_choice{}; }
  bool operator==(const expansion_choice&) const = default;
};
void add_expansion_options(CLI::App& app, expansion_choice& to);
/// With NCCL's settings of the environment. errc::usage names the algorithms, or the variable that
/// is wrong.
result<goal::trace_expansion_options> options_of(const expansion_choice& choice);

struct schedule_input {
  goal::schedule schedule;
  std::unique_ptr<prism_trace_reader> trace;          ///< null: the input is a GOAL file
  std::vector<std::vector<goal::node_place>> places;  ///< of the trace's nodes
  goal::algorithms_used algorithms;                   ///< of the trace's collectives
};

/// Errors are told on standard error and in `findings`, a cut trace as a warning and a finding
/// `cut_input`. `go_on`, asked between ranks: false stops (errc::interrupted). errc::usage: a
/// choice was made for a GOAL file, which has no collectives.
result<schedule_input> open_schedule(const std::string& verb, const std::string& path,
                                     const expansion_choice& choice,
                                     nlohmann::ordered_json& findings,
                                     const std::function<bool()>& go_on = {});

/// Everything of a trace but its nodes, the slot intervals by rank. A cut trace says so in its
/// metadata.
result<execution_graph> tables_of(prism_trace_reader& trace);

}  // namespace troupe
