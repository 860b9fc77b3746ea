// trace_times: what a simulation of an expanded graph says about the graph: when its nodes begin
// and end, how long its collectives and iterations take, how long ranks compute.
//
// A member's part in a collective begins when all that it waits for has ended; the collective takes
// from the last member's begin to the last member's end. Iterations end at markers: "iteration"
// where a rank has them, else "optimizer_step"; the n-th of all ranks are one, at the latest of
// them. Not here: the report (tools/).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/goal/trace_expansion.hpp"
#include "net/operation_times.hpp"

namespace troupe {

/// Collectives that are alike.
struct collective_time {
  operation op{};
  std::uint32_t members{};
  std::uint64_t size{};  ///< bytes as a node has them, the largest of the members'
  std::uint64_t count{};
  std::uint64_t total_ns{}, least_ns{}, most_ns{};
  std::uint64_t skew_ns{};  ///< from the first member's begin to the last one's, over all
};

struct rank_time {
  std::uint64_t finish_ns{};   ///< its last node's end
  std::uint64_t compute_ns{};  ///< of its spans
  std::uint64_t exposed_ns{};  ///< in which no span of it ran, up to its finish
};

class trace_times {
 public:
  trace_times(std::span<const communicator_entry> communicators, const operation_times& times)
      : communicators_(communicators), times_(times) {}

  /// Each rank once, in any order. Returns its nodes with the simulation's times; of nodes of one
  /// stream that overlap (messages under way at once), the later one as what it takes longer.
  std::vector<node> add(rank_id rank, std::span<const node> nodes,
                        std::span<const goal::node_place> places);

  /// By operation, then size, then members.
  std::vector<collective_time> collectives() const;
  /// Durations; the first is from 0. Empty: no rank has markers.
  std::vector<std::uint64_t> iterations_ns() const;
  /// [as added]
  const std::vector<rank_time>& ranks() const { return ranks_; }

 private:
  struct meeting {
    operation op{};
    std::uint64_t size{};
    std::uint64_t first_begin_ns = ~std::uint64_t{0}, last_begin_ns{}, end_ns{};
  };
  void note_markers(std::span<const node> nodes, std::span<const goal::node_place> places);
  void note_spans(std::span<const node> nodes, std::span<const goal::node_place> places);

  std::span<const communicator_entry> communicators_;
  const operation_times& times_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, meeting> meetings_;
  std::vector<std::uint64_t> iteration_ends_ns_;
  std::vector<rank_time> ranks_;
};

}  // namespace troupe
