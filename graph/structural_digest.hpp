// structural_digest: a rank's structure as 64 bits, node by node, without a whole graph in memory.
//
// Two captures of one program run agree: communicators count by id, times and call sites do not
// count. It tells runs apart that differ by accident; it is no defence against a forger.
#pragma once

#include <cstdint>
#include <span>

#include "graph/execution_graph.hpp"

namespace troupe {

/// All of a node that counts, except its sequence number (nodes that differ only in it and in times
/// agree). `communicator`: its id, 0 for a node without one.
std::uint64_t shape_digest(const node& what, communicator_id communicator);

/// One rank's digest, over its nodes in program order.
class rank_digest {
 public:
  void add(std::uint64_t shape, std::uint64_t sequence) {
    value_ = mix(mix(value_, shape), sequence);
  }
  std::uint64_t value() const { return value_; }

  static std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    return hash ^ (hash >> 32);
  }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ull;
};

/// The world's, from the ranks' in order.
std::uint64_t world_digest(std::span<const rank_digest> ranks);

}  // namespace troupe
