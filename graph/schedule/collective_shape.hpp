// collective_shape: what a collective is to do with how many elements, as its members agree.
//
// Vectors, in elements; a member's part is its range of the vector:
//   all_reduce, reduce, broadcast         each member's whole vector; `parts` is only how it is cut
//   all_gather, gather, reduce_scatter, scatter   `parts`: what is member i's
//   all_to_all       `parts`: what this member gives to each; `incoming`: what it gets from each
//   barrier          `parts.total()`: what a signal carries, usually 0
// All members have equal shapes, but for all_to_all's counts: what i gives to j is what j gets
// from i. Not here: how it is done (collective_algorithm.hpp).
#pragma once

#include <cstdint>
#include <span>

#include "graph/execution_graph.hpp"
#include "graph/schedule/part_layout.hpp"
#include "messages/collective.hpp"

namespace troupe {

struct collective_shape {
  operation op{};
  std::uint32_t members = 1;
  std::uint32_t root = 0;  ///< of broadcast, reduce, gather, scatter: a group rank
  std::uint32_t element_bytes = 1;
  part_layout parts;
  part_layout incoming;  ///< all_to_all only
};

/// A collective whose members' parts are as even as they can be. `elements`: the vector's, of
/// all_gather, gather, scatter and reduce_scatter all parts together, of all_to_all what a member
/// gives to all (what it gives to j, all give to j).
collective_shape even_shape(operation op, std::uint32_t members, std::uint64_t elements,
                            std::uint32_t self, std::uint32_t element_bytes = 1,
                            std::uint32_t root = 0);
/// `counts`: a member's part, in member order: all_gather, gather, scatter, reduce_scatter with
/// parts of their own sizes (the v variants).
collective_shape uneven_shape(operation op, std::span<const std::uint64_t> counts,
                              std::uint32_t element_bytes = 1, std::uint32_t root = 0);
/// all_to_all: what this member gives to each, and what it gets from each.
collective_shape exchange_shape(std::span<const std::uint64_t> given,
                                std::span<const std::uint64_t> got,
                                std::uint32_t element_bytes = 1);

/// A collective as its call says it (messages/collective.hpp: what its count counts); splits of an
/// all_to_all become its counts. errc as validate's; errc::bad_input: send or recv.
result<collective_shape> shape_of(const collective_call& call, std::uint32_t self,
                                  std::uint32_t members);
/// A collective as a graph has it: a size in bytes (execution_graph.hpp), no splits: an
/// all_to_all's size is taken as cut evenly on every member, which is wrong where members give
/// different sizes: use exchange_shape there. errc::bad_input: no collective, or its root is
/// outside the group.
result<collective_shape> shape_of(const node& what, std::uint32_t self, std::uint32_t members);

/// Is there nothing to do, as libraries see it: one member, or no element at all and no barrier?
bool is_empty(const collective_shape& what);

}  // namespace troupe
