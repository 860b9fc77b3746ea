// sample_graph: a small graph in which every kind of node, operation and table entry occurs, and a
// seeded large one.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "graph/execution_graph.hpp"
#include "graph/prism_trace_writer.hpp"

namespace troupe::sample {

inline node compute(std::uint64_t duration_ns, std::vector<std::uint32_t> after = {}) {
  node what;
  what.kind = node_kind::compute;
  what.duration_ns = duration_ns;
  what.after = std::move(after);
  return what;
}

inline node marker(marker_kind kind) {
  node what;
  what.kind = node_kind::marker;
  what.marker = kind;
  return what;
}

/// An operation on its communicator's stream, after the node before it.
inline node communication(node_kind kind, operation op, std::uint32_t communicator,
                          std::uint64_t sequence, std::uint64_t size, std::int32_t peer = 0) {
  node what;
  what.kind = kind;
  what.stream = static_cast<std::uint16_t>(1 + communicator);
  what.op = op;
  what.type = element_type::f32;
  what.reduce = reduces(op) ? reduction::sum : reduction::none;
  what.communicator = communicator;
  what.sequence = sequence;
  what.size = size;
  what.peer = peer;
  what.call_site = 1;
  what.duration_ns = 1000 + size;
  what.after = {1};
  return what;
}

inline node collective(operation op, std::uint32_t communicator, std::uint64_t sequence,
                       std::uint64_t size, std::int32_t root = 0) {
  return communication(node_kind::collective, op, communicator, sequence, size, root);
}

inline communicator_entry group(std::vector<std::uint32_t> members, std::string name,
                                semantics rules = semantics::gloo) {
  communicator_entry entry;
  for (auto member : members) entry.members.push_back({member});
  entry.id = make_communicator_id(entry.members, 0);
  entry.rules = rules;
  entry.name = std::move(name);
  return entry;
}

/// Four ranks, two communicators; made by hand, never changed: the golden file holds it.
inline execution_graph small_graph() {
  execution_graph graph;
  graph.world = 4;
  graph.stage = graph_stage::timed;
  graph.communicators = {group({0, 1, 2, 3}, "default_pg"), group({2, 0}, "", semantics::nccl)};
  graph.call_sites = {"", "train.py:42 in step", "naïve \"quoted\"\n"};
  graph.metadata = {{"program", "train.py"}, {"torch", "1.13.0"}};
  const operation all[] = {operation::all_reduce, operation::broadcast,      operation::reduce,
                           operation::all_gather, operation::reduce_scatter, operation::all_to_all,
                           operation::gather,     operation::scatter,        operation::barrier};
  graph.ranks.resize(4);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    auto& nodes = graph.ranks[rank];
    nodes.push_back(marker(marker_kind::start));
    nodes.back().gap_ns = 500 * rank;
    std::uint64_t sequence = 0;
    for (auto op : all) {
      nodes.push_back(compute(100'000 + 1'000 * rank, sequence ? std::vector<std::uint32_t>{1}
                                                               : std::vector<std::uint32_t>{}));
      nodes.push_back(collective(op, 0, ++sequence, op == operation::barrier ? 0 : 4096, 1));
    }
    nodes.push_back(compute(7, {1}));
    if (rank == 0 || rank == 2) {
      const bool sends = rank == 0;  // group rank 1 sends to group rank 0
      nodes.push_back(communication(sends ? node_kind::send : node_kind::recv,
                                    sends ? operation::send : operation::recv, 1, 1,
                                    std::uint64_t{5} << 30, sends ? 0 : 1));
      nodes.back().tag = -7;
      nodes.back().duration_ns = std::uint64_t{3} << 40;
      nodes.push_back(compute(0, {1, 5}));
    }
    node copy;
    copy.kind = node_kind::copy;
    copy.size = 64;
    copy.duration_ns = 12;
    copy.call_site = 2;
    nodes.push_back(copy);
    nodes.push_back(marker(marker_kind::backward_end));
    nodes.push_back(marker(marker_kind::optimizer_step));
    nodes.push_back(marker(marker_kind::iteration));
    nodes.push_back(marker(marker_kind::end));
    graph.slots.push_back(
        {{rank}, {rank % 2}, 1'000 * rank, 1'000 * rank + 900, static_cast<std::uint8_t>(rank)});
  }
  return graph;
}

/// A training-like rank part: compute, collective, compute, …; `nodes` of them, times jittered by 5
/// %, 1.2 edges a node.
inline std::vector<node> training_nodes(std::uint32_t nodes, std::mt19937_64& chance) {
  std::vector<node> made;
  made.reserve(nodes);
  auto jittered = [&](std::uint64_t mean) { return mean - mean / 20 + chance() % (mean / 10 + 1); };
  std::uint64_t sequence = 0;
  constexpr std::uint32_t layers = 24;
  while (made.size() < nodes) {
    const auto layer = static_cast<std::uint32_t>(sequence % layers);
    std::vector<std::uint32_t> after;
    if (sequence > 0) after.push_back(1);
    if (sequence > 2 && layer % 5 < 2) after.push_back(5);  // and an older, asynchronous one
    made.push_back(compute(jittered(80'000 + 9'000 * layer), std::move(after)));
    if (made.size() == nodes) break;
    made.push_back(collective(layer % 3 ? operation::all_reduce : operation::all_gather, 0,
                              ++sequence, (1u << 20) + 65536 * layer));
    made.back().duration_ns = jittered(40'000 + 3'000 * layer);
    made.back().gap_ns = jittered(50'000 + 5'000 * layer);
  }
  return made;
}

/// Writes a graph whole. Every step's error passes.
inline result<void> write(const execution_graph& graph, prism_trace_writer& writer) {
  for (const auto& communicator : graph.communicators)
    if (auto wrote = writer.append(communicator); !wrote) return wrote;
  for (std::size_t site = 1; site < graph.call_sites.size(); ++site)
    if (auto wrote = writer.append_call_site(graph.call_sites[site]); !wrote) return wrote;
  for (std::uint32_t rank = 0; rank < graph.world; ++rank)
    if (auto wrote = writer.append({rank}, graph.ranks[rank]); !wrote) return wrote;
  return writer.append(std::span<const slot_interval>(graph.slots));
}

inline bool equal(const execution_graph& a, const execution_graph& b) {
  return a.world == b.world && a.stage == b.stage && a.ranks == b.ranks
         && a.communicators == b.communicators && a.call_sites == b.call_sites && a.slots == b.slots
         && a.metadata == b.metadata;
}

}  // namespace troupe::sample
