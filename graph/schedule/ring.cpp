// ring: each member sends to its successor and receives from its predecessor, part by part.
//
// Source: Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
// J. Parallel Distrib. Comput. 69 (2009), doi:10.1016/j.jpdc.2008.09.002; broadcast and reduce as
// van de Geijn's: scatter and all-gather (reduce-scatter and gather), Barnett et al., "Building a
// high-performance collective communication library", SC 1994, doi:10.1109/SUPERC.1994.344295.
// Step k of a round is numbered from 0; a member's first part to go is its own, of a
// reduce-scatter its predecessor's, so that it ends with its own.
#include "graph/schedule/algorithms.hpp"

namespace troupe::rounds {
namespace {

/// n - 1 steps; the first sends part `begin` places on, each further one the part before.
void around(round_writer& to, std::uint32_t begin, combining how) {
  const auto n = to.members;
  for (std::uint32_t k = 0; k + 1 < n; ++k) {
    const auto given = (to.next(begin) + n - k) % n;
    to.exchange(to.next(1), to.part_at(given), to.previous(1), to.part_at((given + n - 1) % n),
                how);
  }
}

}  // namespace

void ring_all_reduce(round_writer& to) {
  around(to, 0, combining::reduce);  // now the part of the next one is whole
  around(to, 1, combining::copy);
}

void ring_reduce_scatter(round_writer& to) { around(to, to.members - 1, combining::reduce); }

void ring_all_gather(round_writer& to) { around(to, 0, combining::copy); }

void ring_broadcast(round_writer& to) {
  binomial_scatter(to);
  around(to, 0, combining::copy);
}

void ring_reduce(round_writer& to) {
  around(to, to.members - 1, combining::reduce);
  binomial_gather(to);
}

}  // namespace troupe::rounds
