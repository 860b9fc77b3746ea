#include "graph/execution_graph.hpp"

#include "graph/structural_digest.hpp"
#include "messages/assert.hpp"

namespace troupe {

const char* to_string(node_kind kind) {
  switch (kind) {
    case node_kind::compute:
      return "compute";
    case node_kind::collective:
      return "collective";
    case node_kind::send:
      return "send";
    case node_kind::recv:
      return "recv";
    case node_kind::copy:
      return "copy";
    case node_kind::marker:
      return "marker";
  }
  return "unknown";
}

const char* to_string(marker_kind kind) {
  switch (kind) {
    case marker_kind::start:
      return "start";
    case marker_kind::backward_end:
      return "backward_end";
    case marker_kind::optimizer_step:
      return "optimizer_step";
    case marker_kind::iteration:
      return "iteration";
    case marker_kind::end:
      return "end";
  }
  return "unknown";
}

const char* to_string(graph_stage stage) {
  switch (stage) {
    case graph_stage::bare:
      return "bare";
    case graph_stage::timed:
      return "timed";
    case graph_stage::calibrated:
      return "calibrated";
  }
  return "unknown";
}

std::uint64_t shape_digest(const node& what, communicator_id communicator) {
  auto byte = [](auto value, int at) { return static_cast<std::uint64_t>(value) << (8 * at); };
  std::uint64_t hash =
      rank_digest::mix(0, byte(what.kind, 0) | byte(what.op, 1) | byte(what.type, 2)
                              | byte(what.reduce, 3) | byte(what.marker, 4) | byte(what.stream, 5));
  hash = rank_digest::mix(hash, communicator.value);
  hash = rank_digest::mix(hash, what.size);
  hash =
      rank_digest::mix(hash, static_cast<std::uint64_t>(static_cast<std::uint32_t>(what.peer)) << 32
                                 | static_cast<std::uint32_t>(what.tag));
  hash = rank_digest::mix(hash, what.after.size());
  for (auto distance : what.after) hash = rank_digest::mix(hash, distance);
  return hash;
}

std::uint64_t world_digest(std::span<const rank_digest> ranks) {
  std::uint64_t hash = rank_digest::mix(0, ranks.size());
  for (const auto& rank : ranks) hash = rank_digest::mix(hash, rank.value());
  return hash;
}

namespace {

rank_digest digest_of(const execution_graph& graph, rank_id rank) {
  TROUPE_ASSERT(rank.value < graph.ranks.size(), rank.value, graph.ranks.size());
  rank_digest digest;
  for (const auto& what : graph.ranks[rank.value]) {
    communicator_id communicator{};
    if (communicates(what.kind)) {
      TROUPE_ASSERT(what.communicator < graph.communicators.size(), what.communicator);
      communicator = graph.communicators[what.communicator].id;
    }
    digest.add(shape_digest(what, communicator), what.sequence);
  }
  return digest;
}

}  // namespace

std::uint64_t structural_digest(const execution_graph& graph, rank_id rank) {
  return digest_of(graph, rank).value();
}

std::uint64_t structural_digest(const execution_graph& graph) {
  std::vector<rank_digest> ranks;
  for (std::uint32_t rank = 0; rank < graph.ranks.size(); ++rank)
    ranks.push_back(digest_of(graph, rank_id{rank}));
  return world_digest(ranks);
}

}  // namespace troupe
