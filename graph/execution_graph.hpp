// execution_graph: what the ranks of a run did: nodes on streams, edges between them, tables of
// what they name.
//
// A rank's nodes are in program order. A node waits for the previous node of its own stream, and
// for `after`. Between ranks nothing is stored: nodes of one (communicator, sequence) synchronise;
// a send and a recv of one communicator match by (source, destination, tag, sequence among those).
// Not here: the bytes of a file (prism_trace_*.hpp); how a live rank's events become nodes
// (rank_graph_builder.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "messages/collective.hpp"
#include "messages/ids.hpp"
#include "messages/units.hpp"

namespace troupe {

enum class node_kind : std::uint8_t { compute, collective, send, recv, copy, marker };
constexpr int node_kind_count = 6;

/// What a marker marks.
enum class marker_kind : std::uint8_t { start, backward_end, optimizer_step, iteration, end };
constexpr int marker_kind_count = 5;

/// Does the node belong to a communicator (collective, send, recv)?
constexpr bool communicates(node_kind kind) {
  return kind == node_kind::collective || kind == node_kind::send || kind == node_kind::recv;
}

const char* to_string(node_kind kind);
const char* to_string(marker_kind kind);

/// stream 0 is the program's own; each communicator has one of its own (1 + its index in the rank's
/// order of opening).
struct node {
  node_kind kind{};
  std::uint16_t stream{};
  operation op{};        ///< collective, send, recv
  element_type type{};   ///< collective, send, recv
  reduction reduce{};    ///< collective
  marker_kind marker{};  ///< marker
  std::uint32_t
      communicator{};        ///< collective, send, recv: index into execution_graph::communicators
  std::uint64_t sequence{};  ///< collective: its sequence number; send, recv: n-th with this peer
                             ///< and tag, from 1
  std::uint64_t
      size{};  ///< bytes: collective: what this rank gives (input_count × element size; for a rank
               ///< that gives nothing, what it gets); send, recv, copy: the message
  std::int32_t peer{};        ///< send, recv: group rank; rooted collectives: the root's group rank
  std::int32_t tag{};         ///< send, recv
  std::uint32_t call_site{};  ///< index into execution_graph::call_sites; 0: unknown
  std::uint64_t
      duration_ns{};       ///< compute: time on a slot; communication: from issue to resolution
  std::uint64_t gap_ns{};  ///< from the end of the stream's previous node (its first node: from the
                           ///< run's start) to this node's start; 0 where unknown, or where it
                           ///< started before that end
  std::vector<std::uint32_t>
      after;  ///< nodes of the same rank that must end first: distances back (≥ 1), ascending;
              ///< the previous node of the same stream is implied and not listed
  friend bool operator==(const node&, const node&) = default;
};

struct communicator_entry {
  communicator_id id;
  std::vector<rank_id> members;  ///< in group order
  semantics rules{};
  std::string name;  ///< as the program calls it ("default_pg"), may be empty
  friend bool operator==(const communicator_entry&, const communicator_entry&) = default;
};

enum class graph_stage : std::uint8_t { bare, timed, calibrated };
const char* to_string(graph_stage stage);

/// A rank held a slot from start to end (ns since the run's start). The run's own timeline, not the
/// program's structure.
struct slot_interval {
  rank_id rank;
  slot_id slot;
  std::uint64_t start_ns{}, end_ns{};
  std::uint8_t why{};  ///< why it was given up: a release_reason (messages/release_reason.hpp)
  friend bool operator==(const slot_interval&, const slot_interval&) = default;
};

struct execution_graph {
  std::uint32_t world{};
  graph_stage stage{};
  std::vector<std::vector<node>> ranks;  ///< [rank][program order]
  std::vector<communicator_entry> communicators;
  std::vector<std::string> call_sites;  ///< [0] is "" (unknown); else "train.py:42 in step"
  std::vector<slot_interval> slots;
  std::vector<std::pair<std::string, std::string>> metadata;  ///< program, arguments, versions, …
};

/// Digest of one rank's structure (kinds, communicators, sequences, operations, types, sizes,
/// peers, tags, edges; no times, no call sites). Communicators count by id, so two captures of one
/// program run agree.
std::uint64_t structural_digest(const execution_graph& graph, rank_id rank);
/// The whole world's: over the ranks' digests in order.
std::uint64_t structural_digest(const execution_graph& graph);

}  // namespace troupe
