// collective_traffic: which bytes an operation moves from its rank to which others: the convention
// of traffic matrices.
//
// What members give each other logically, not what an algorithm moves, except where a sum is made;
// n members, size as node has it, parts of a size as even as they can be, the first ones larger by
// one byte:
//   send                       size to the peer (a recv adds nothing)
//   all_gather                 size to every other member
//   broadcast                  the root: size to every other member
//   scatter                    the root: to every other member its part of size
//   gather, reduce             every member but the root: size to the root
//   all_to_all                 to every other member its part of size (with uneven splits an
//   approximation: sizes of
//                              single messages are not in a graph)
//   reduce_scatter             the ring: to the successor in group order all but the own part,
//   (n-1)/n × size all_reduce                 the ring, reduce_scatter and all_gather: to the
//   successor 2(n-1)/n × size, made of parts barrier                    nothing
// Summed over the members the totals are exact: all_reduce 2(n-1) × size, reduce_scatter (n-1) ×
// size.
#pragma once

#include <cstdint>

#include "graph/execution_graph.hpp"
#include "graph/traffic_matrix.hpp"

namespace troupe {

/// Adds what `times` operations like `what` move. `group_rank`: of the rank that issued it.
void add_traffic(traffic_matrix& to, const node& what, const communicator_entry& group,
                 std::uint32_t group_rank, std::uint64_t times);

}  // namespace troupe
