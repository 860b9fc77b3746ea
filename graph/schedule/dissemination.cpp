// dissemination: a barrier of ⌈log2 n⌉ rounds; in round k a signal to the member 2^k places on.
//
// Source: Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", Int. J. Parallel
// Program. 17 (1988), doi:10.1007/BF01379320.
#include "graph/schedule/algorithms.hpp"

namespace troupe::rounds {

void dissemination_barrier(round_writer& to) {
  const element_range signal = to.whole();
  for (std::uint64_t distance = 1; distance < to.members; distance *= 2) {
    const auto d = static_cast<std::uint32_t>(distance);
    to.exchange(to.next(d), signal, to.previous(d), {vector_name::scratch, 0, signal.count});
  }
}

}  // namespace troupe::rounds
