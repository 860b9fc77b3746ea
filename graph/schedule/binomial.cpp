// binomial: trees in which the member at place p has the parent p without its lowest bit.
//
// Source: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
// MPICH", Int. J. High Perform. Comput. Appl. 19 (2005), doi:10.1177/1094342005051521. The subtree
// of p is [p, p + lowest bit), cut off at the number of members: what a scatter sends to p and a
// gather gets from it. all_reduce, all_gather, reduce_scatter and barrier are two of these with
// member 0 as the root.
#include <bit>

#include "graph/schedule/algorithms.hpp"

namespace troupe::rounds {
namespace {

/// The place's distance from its parent; of place 0, beyond all.
std::uint64_t reach(const round_writer& to) {
  return to.place == 0 ? std::bit_ceil(std::uint64_t{to.members})
                       : std::uint64_t{to.place & -to.place};
}

std::uint32_t parent(const round_writer& to) { return to.place & (to.place - 1); }

/// The places of the subtree `bit` further on.
element_range subtree(const round_writer& to, std::uint64_t bit) {
  const auto end = std::min<std::uint64_t>(to.place + 2 * bit, to.members);
  return to.parts_at(to.place + static_cast<std::uint32_t>(bit), static_cast<std::uint32_t>(end));
}

element_range own_subtree(const round_writer& to) {
  const auto end = std::min<std::uint64_t>(to.place + reach(to), to.members);
  return to.parts_at(to.place, static_cast<std::uint32_t>(end));
}

/// From the largest subtree to the smallest: what(child, bit), each a round.
template <class Body>
void to_children(round_writer& to, Body body) {
  for (auto bit = reach(to) / 2; bit > 0; bit /= 2)
    if (to.place + bit < to.members) {
      body(static_cast<std::uint32_t>(to.place + bit), bit);
      to.end_round();
    }
}

/// From the smallest subtree to the largest.
template <class Body>
void from_children(round_writer& to, Body body) {
  for (std::uint64_t bit = 1; bit < reach(to) && to.place + bit < to.members; bit *= 2) {
    body(static_cast<std::uint32_t>(to.place + bit), bit);
    to.end_round();
  }
}

}  // namespace

void binomial_broadcast(round_writer& to) {
  if (to.place != 0) to.recv(parent(to), to.whole());
  to.end_round();
  to_children(to, [&](std::uint32_t child, std::uint64_t) { to.send(child, to.whole()); });
}

void binomial_reduce(round_writer& to) {
  from_children(to, [&](std::uint32_t child, std::uint64_t) {
    to.recv(child, to.whole(), combining::reduce);
  });
  if (to.place != 0) to.send(parent(to), to.whole());
  to.end_round();
}

void binomial_scatter(round_writer& to) {
  if (to.place != 0) to.recv(parent(to), own_subtree(to));
  to.end_round();
  to_children(to,
              [&](std::uint32_t child, std::uint64_t bit) { to.send(child, subtree(to, bit)); });
}

void binomial_gather(round_writer& to) {
  from_children(to,
                [&](std::uint32_t child, std::uint64_t bit) { to.recv(child, subtree(to, bit)); });
  if (to.place != 0) to.send(parent(to), own_subtree(to));
  to.end_round();
}

void binomial_all_reduce(round_writer& to) {
  binomial_reduce(to);
  binomial_broadcast(to);
}

void binomial_all_gather(round_writer& to) {
  binomial_gather(to);
  binomial_broadcast(to);
}

void binomial_reduce_scatter(round_writer& to) {
  binomial_reduce(to);
  binomial_scatter(to);
}

void binomial_barrier(round_writer& to) { binomial_all_reduce(to); }

}  // namespace troupe::rounds
