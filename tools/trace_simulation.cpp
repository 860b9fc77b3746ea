#include "tools/trace_simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "graph/goal/schedule_graph.hpp"
#include "tools/inspect_report.hpp"
#include "tools/timeline_file.hpp"

namespace troupe {
namespace {

constexpr std::size_t iterations_shown_max = 8;

}  // namespace

result<trace_simulation> trace_simulation::make(schedule_input& input, const operation_times& times,
                                                const std::string& model) {
  TROUPE_TRY(tables, input.trace ? tables_of(*input.trace) : goal::tables_of(input.schedule));
  tables.stage = graph_stage::calibrated;  // one time line, though not a measured one
  tables.slots.clear();
  tables.metadata.emplace_back("simulated", model);
  return trace_simulation(input, times, std::move(tables));
}

result<std::vector<node>> trace_simulation::timed_nodes(trace_times& to, rank_id rank) const {
  if (input_->trace) {
    TROUPE_TRY(nodes, input_->trace->load(rank));
    return to.add(rank, nodes, input_->places[rank.value]);
  }
  TROUPE_TRY(made, goal::nodes_of(input_->schedule, rank.value));
  std::vector<goal::node_place> places;
  for (const auto operation : made.operations) places.push_back({operation, operation});
  return to.add(rank, made.nodes, places);
}

result<void> trace_simulation::run(const std::string& timeline) {
  std::unique_ptr<timeline_file> file;
  if (!timeline.empty()) {
    const auto format = timeline_format_of(timeline).value_or(timeline_format::perfetto);
    TROUPE_TRY(created, timeline_file::create(timeline, format, tables_));
    file = std::move(created);
  }
  trace_times to(tables_.communicators, *times_);
  for (std::uint32_t rank = 0; rank < tables_.world; ++rank) {
    TROUPE_TRY(nodes, timed_nodes(to, rank_id{rank}));
    if (!file) continue;
    if (auto added = file->add(rank_id{rank}, nodes, {}); !added) return added.error();
  }
  if (file)
    if (auto closed = file->close(); !closed) return closed.error();
  collectives_ = to.collectives();
  iterations_ns_ = to.iterations_ns();
  ranks_ = to.ranks();
  return {};
}

void trace_simulation::report(nlohmann::ordered_json& to) const {
  if (!input_->trace) return;
  auto& collectives = to["collectives"] = nlohmann::ordered_json::array();
  for (const auto& each : collectives_)
    collectives.push_back({{"operation", to_string(each.op)},
                           {"members", each.members},
                           {"bytes", each.size},
                           {"count", each.count},
                           {"mean_ns", each.total_ns / each.count},
                           {"least_ns", each.least_ns},
                           {"most_ns", each.most_ns},
                           {"mean_skew_ns", each.skew_ns / each.count}});
  auto& algorithms = to["algorithms"] = nlohmann::ordered_json::object();
  for (const auto& [op, used] : input_->algorithms)
    for (const auto each : used) algorithms[to_string(op)].push_back(to_string(each));
  auto& iterations = to["iterations"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < iterations_ns_.size(); ++i)
    iterations.push_back({{"index", i}, {"duration_ns", iterations_ns_[i]}});
  auto& ranks = to["ranks"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < ranks_.size(); ++i)
    ranks.push_back({{"rank", i},
                     {"finish_ns", ranks_[i].finish_ns},
                     {"compute_ns", ranks_[i].compute_ns},
                     {"exposed_ns", ranks_[i].exposed_ns}});
}

std::string trace_simulation::text() const {
  if (!input_->trace) return {};
  std::string made;
  if (!collectives_.empty())
    made += fmt::format("{:<16} {:>7} {:>12} {:>8} {:>12} {:>12} {:>12} {:>12}\n", "collective",
                        "members", "bytes", "count", "mean", "least", "most", "skew");
  for (const auto& each : collectives_)
    made += fmt::format("{:<16} {:>7} {:>12} {:>8} {:>12} {:>12} {:>12} {:>12}\n",
                        to_string(each.op), each.members, each.size, each.count,
                        human_ns(each.total_ns / each.count), human_ns(each.least_ns),
                        human_ns(each.most_ns), human_ns(each.skew_ns / each.count));
  std::string algorithms;
  for (const auto& [op, used] : input_->algorithms) {
    algorithms += (algorithms.empty() ? "" : "; ") + std::string(to_string(op));
    for (const auto each : used) algorithms += std::string(" ") + to_string(each);
  }
  if (!algorithms.empty()) made += "by " + algorithms + "\n";
  for (std::size_t i = 0; i < std::min(iterations_ns_.size(), iterations_shown_max); ++i)
    made += fmt::format("iteration {:<6} {}\n", i, human_ns(iterations_ns_[i]));
  if (iterations_ns_.size() > iterations_shown_max)
    made += fmt::format("… {} iterations in all\n", iterations_ns_.size());
  const auto exposed = [](const rank_time& a, const rank_time& b) {
    const auto part = [](const rank_time& of) {
      return static_cast<double>(of.exposed_ns)
             / static_cast<double>(std::max<std::uint64_t>(of.finish_ns, 1));
    };
    return part(a) < part(b);
  };
  if (const auto most = std::max_element(ranks_.begin(), ranks_.end(), exposed);
      most != ranks_.end())
    made +=
        fmt::format("rank {} computes the smallest part of its time: {} of {} pass without\n",
                    most - ranks_.begin(), human_ns(most->exposed_ns), human_ns(most->finish_ns));
  return made;
}

}  // namespace troupe
