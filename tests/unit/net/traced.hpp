// traced: graphs made by hand, through a trace file, expanded and simulated.
#pragma once

#include <memory>
#include <random>

#include "graph/goal/trace_expansion.hpp"
#include "graph/prism_trace_writer.hpp"
#include "net/trace_times.hpp"
#include "tests/unit/graph/sample_graph.hpp"
#include "tests/unit/graph/temporary_folder.hpp"
#include "tests/unit/net/simulated.hpp"

namespace troupe {

/// The graph as a trace, while this lives.
class traced {
 public:
  explicit traced(const execution_graph& graph) {
    auto to = prism_trace_writer::create(folder_.file("a.prism"), {.world = graph.world});
    REQUIRE(to);
    for (const auto& each : graph.communicators) REQUIRE((*to)->append(each));
    REQUIRE((*to)->append_call_site("a.py:1"));
    for (std::uint32_t rank = 0; rank < graph.world; ++rank)
      REQUIRE((*to)->append(rank_id{rank}, graph.ranks[rank]));
    REQUIRE((*to)->close());
    auto opened = prism_trace_reader::open(folder_.file("a.prism"));
    REQUIRE(opened);
    reader_ = std::move(*opened);
  }
  prism_trace_reader& reader() { return *reader_; }
  result<goal::expanded_trace> expanded(const goal::trace_expansion_options& options = {}) {
    return goal::expand_trace(*reader_, options);
  }
  simulation_result simulated(const goal::trace_expansion_options& options = {},
                              const loggops_parameters& parameters = {}) {
    auto made = expanded(options);
    INFO((made ? "" : made.error().context));
    REQUIRE(made);
    return troupe::simulated(made->made, parameters);
  }

 private:
  temporary_folder folder_;
  std::unique_ptr<prism_trace_reader> reader_;
};

/// A graph's simulation with the default network: when each of its nodes began and ended.
struct timed_graph {
  explicit timed_graph(const execution_graph& graph)
      : trace(graph), made(*trace.expanded()), times(made.made.size()) {
    loggops_model model({}, &times);
    REQUIRE(simulate(made.made, model));
  }
  traced trace;
  goal::expanded_trace made;
  operation_times times;
};

/// The ranks of a program, as rank_graph_builder writes them: a span before and after everything.
class program_graph {
 public:
  program_graph(std::uint32_t world, semantics rules) {
    graph_.world = world;
    graph_.ranks.resize(world);
    open_.resize(world);
    std::vector<std::uint32_t> all(world);
    for (std::uint32_t rank = 0; rank < world; ++rank) all[rank] = rank;
    add_group(all, rules);
  }
  std::uint32_t add_group(const std::vector<std::uint32_t>& members, semantics rules) {
    graph_.communicators.push_back(sample::group(members, "group", rules));
    return static_cast<std::uint32_t>(graph_.communicators.size() - 1);
  }
  /// Computes, having awaited all that is open when `awaits`.
  void compute(std::uint32_t rank, std::uint64_t ns, bool awaits = true) {
    auto& nodes = graph_.ranks[rank];
    auto what = sample::compute(ns);
    if (awaits) {
      for (auto each = open_[rank].rbegin(); each != open_[rank].rend(); ++each)
        what.after.push_back(static_cast<std::uint32_t>(nodes.size()) - *each);
      open_[rank].clear();
    }
    nodes.push_back(what);
    latest_span_[rank] = static_cast<std::uint32_t>(nodes.size() - 1);
  }
  /// A call right after the latest span.
  void call(std::uint32_t rank, node what) {
    auto& nodes = graph_.ranks[rank];
    if (!latest_span_.count(rank)) compute(rank, 0);
    what.call_site = 0;
    what.after = {static_cast<std::uint32_t>(nodes.size()) - latest_span_[rank]};
    open_[rank].push_back(static_cast<std::uint32_t>(nodes.size()));
    nodes.push_back(what);
  }
  void collective(operation op, std::uint32_t group, std::uint64_t size, std::int32_t root = 0) {
    const auto sequence = ++sequences_[group];
    for (const auto member : graph_.communicators[group].members)
      call(member.value, sample::collective(op, group, sequence, size, root));
  }
  void mark(std::uint32_t rank, marker_kind kind) {
    graph_.ranks[rank].push_back(sample::marker(kind));
  }
  execution_graph& graph() { return graph_; }

 private:
  execution_graph graph_;
  std::vector<std::vector<std::uint32_t>> open_;  // [rank]: calls that nobody awaited
  std::map<std::uint32_t, std::uint32_t> latest_span_;
  std::map<std::uint32_t, std::uint64_t> sequences_;
};

inline node message(node_kind kind, std::uint32_t group, std::int32_t peer, std::uint64_t sequence,
                    std::uint64_t size, std::int32_t tag = 0) {
  auto made =
      sample::communication(kind, kind == node_kind::send ? operation::send : operation::recv,
                            group, sequence, size, peer);
  made.tag = tag;
  return made;
}

}  // namespace troupe
