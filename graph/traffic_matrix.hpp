// traffic_matrix: bytes from each rank of the world to each other one.
//
// Kept sparse: what a rank gives to every other member of a communicator is one number, so that a
// world of thousands does not cost its square. Rows are laid out one at a time. A sum that
// overflows stays at the largest value. Not here: which traffic an operation makes
// (collective_traffic.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "graph/execution_graph.hpp"

namespace troupe {

class traffic_matrix {
 public:
  /// `communicators` must outlive the matrix.
  traffic_matrix(std::uint32_t world, std::span<const communicator_entry> communicators);

  void add(rank_id source, rank_id destination, std::uint64_t bytes);
  /// To every member of the communicator but `source` itself.
  void add_to_others(rank_id source, std::uint32_t communicator, std::uint64_t bytes);

  /// Calls for every source that sends anything, ascending; `row` has a number for each
  /// destination.
  using row_visitor = std::function<void(rank_id source, std::span<const std::uint64_t> row)>;
  void for_each_row(const row_visitor& visit) const;

  std::uint32_t world() const { return static_cast<std::uint32_t>(rows_.size()); }

 private:
  struct row {
    std::map<std::uint32_t, std::uint64_t> to_rank;
    std::map<std::uint32_t, std::uint64_t> to_others_of;  // [communicator]
  };
  std::vector<row> rows_;
  std::span<const communicator_entry> communicators_;
};

}  // namespace troupe
