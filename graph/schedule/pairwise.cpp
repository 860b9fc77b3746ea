// pairwise: n - 1 steps; in step k to the member k places on, from the one k places before.
//
// Source: Thakur, Rabenseifner, Gropp (2005), doi:10.1177/1094342005051521, for long messages.
#include "graph/schedule/algorithms.hpp"

namespace troupe::rounds {

void pairwise_all_to_all(round_writer& to) {
  keep_own_part(to);
  for (std::uint32_t k = 1; k < to.members; ++k) {
    give_part(to, to.next(k));
    get_part(to, to.previous(k));
    to.end_round();
  }
}

void pairwise_reduce_scatter(round_writer& to) {
  for (std::uint32_t k = 1; k < to.members; ++k)
    to.exchange(to.next(k), to.part_at(to.next(k)), to.previous(k), to.part_at(to.place),
                combining::reduce);
}

}  // namespace troupe::rounds
