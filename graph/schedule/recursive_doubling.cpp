// recursive_doubling: log2 n exchanges with the member 1, 2, 4, … places away.
//
// Source: Thakur, Rabenseifner, Gropp (2005), doi:10.1177/1094342005051521. Members beyond a power
// of two, one of each of the first pairs, give what they have to their neighbour first and get the
// result last (member_fold).
#include "graph/schedule/algorithms.hpp"
#include "graph/schedule/member_fold.hpp"

namespace troupe::rounds {

namespace {

/// Both have the sum of both: what comes is kept aside until what goes has gone.
void swap_and_add(round_writer& to, std::uint32_t partner) {
  const auto all = to.whole();
  const element_range aside{vector_name::scratch, 0, all.count};
  to.exchange(partner, all, partner, aside);
  to.local(aside, all, combining::reduce);
  to.end_round();
}

}  // namespace

void recursive_doubling_all_reduce(round_writer& to) {
  const member_fold fold(to.members);
  const auto self = to.place;
  if (fold.is_out(self)) {
    to.send(fold.stand_in(self), to.whole());
    to.end_round();
    to.recv(fold.stand_in(self), to.whole());
    return to.end_round();
  }
  if (fold.has_two(self)) to.recv(fold.out_of(self), to.whole(), combining::reduce);
  to.end_round();
  for (std::uint32_t bit = 1; bit < fold.power(); bit *= 2)
    swap_and_add(to, fold.member(fold.seat(self) ^ bit));
  if (fold.has_two(self)) to.send(fold.out_of(self), to.whole());
  to.end_round();
}

void recursive_doubling_all_gather(round_writer& to) {
  const member_fold fold(to.members);
  const auto self = to.place, n = to.members;
  if (fold.is_out(self)) {
    to.send(fold.stand_in(self), to.part_at(self));
    to.end_round();
    to.recv(fold.stand_in(self), to.parts_at(self + 1, self + n));
    return to.end_round();
  }
  if (fold.has_two(self)) to.recv(fold.out_of(self), to.part_at(fold.out_of(self)));
  to.end_round();
  for (std::uint32_t bit = 1; bit < fold.power(); bit *= 2) {
    const auto mine = fold.seat(self) & ~(bit - 1), theirs = mine ^ bit;
    const auto partner = fold.member(fold.seat(self) ^ bit);
    to.exchange(partner, to.parts_at(fold.begin(mine), fold.begin(mine + bit)), partner,
                to.parts_at(fold.begin(theirs), fold.begin(theirs + bit)));
  }
  if (fold.has_two(self)) {
    const auto other = fold.out_of(self);
    to.send(other, to.parts_at(other + 1, other + n));
  }
  to.end_round();
}

void recursive_doubling_barrier(round_writer& to) { recursive_doubling_all_reduce(to); }

}  // namespace troupe::rounds
