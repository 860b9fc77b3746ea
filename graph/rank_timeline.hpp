// rank_timeline: when each node of a rank ran, and on which row of a picture it is drawn.
//
// A node starts gap_ns after the end of its stream's previous node. Where a communication node's
// gap is 0 it was issued before that end (or the gap is unknown): it starts when it was issued,
// which is where the program's next node starts (or, behind the last one, where the last node it
// comes after ended). Nodes on one row never overlap: what overlaps on one stream gets further
// lanes. A compute node is drawn as long as it ran: time it did not run shows behind it.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "graph/execution_graph.hpp"

namespace troupe {

constexpr std::uint64_t timeline_ns_max = std::uint64_t{1} << 62;  ///< later is drawn there

struct timeline_row {
  std::uint16_t stream{};
  std::uint32_t lane{};          ///< from 0
  std::uint32_t communicator{};  ///< of the stream's first communication node
  bool has_communicator = false;
};

struct rank_timeline {
  std::vector<std::uint64_t> start_ns, end_ns;  ///< [node]
  std::vector<std::uint32_t> row;               ///< [node]: index into rows
  std::vector<timeline_row> rows;               ///< by stream, then lane
};

rank_timeline lay_out(std::span<const node> nodes);

/// Puts spans that overlap on different lanes; few lanes, the lowest first.
class timeline_lanes {
 public:
  /// Spans come in the order of their starts.
  std::uint32_t take(std::uint64_t start_ns, std::uint64_t end_ns);
  std::uint32_t count() const { return count_; }

 private:
  template <class T>
  using least_first = std::priority_queue<T, std::vector<T>, std::greater<T>>;
  least_first<std::pair<std::uint64_t, std::uint32_t>> busy_;  // until when, lane
  least_first<std::uint32_t> free_;
  std::uint32_t count_ = 0;
};

/// A rank's time on slots and between: ascending, never overlapping (a rank is on one slot at a
/// time; where a file says otherwise, the earlier interval has it).
struct slot_span {
  bool is_running{};
  slot_id slot{};      ///< running: where
  std::uint8_t why{};  ///< the release_reason that ended it (running), that began it (blocked)
  std::uint64_t start_ns{}, end_ns{};
};
std::vector<slot_span> slot_spans(std::span<const slot_interval> of_one_rank);

}  // namespace troupe
