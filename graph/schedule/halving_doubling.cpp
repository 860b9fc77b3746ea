// halving_doubling: exchanges of ever smaller ranges with ever nearer members reduce and scatter;
// the same backwards gathers.
//
// Source: Rabenseifner, "Optimization of collective reduction operations", ICCS 2004,
// doi:10.1007/978-3-540-24685-5_1; Thakur, Rabenseifner, Gropp (2005),
// doi:10.1177/1094342005051521, also for a broadcast by scatter and doubling. Members beyond a
// power of two give their vector to a neighbour first and get their result last (member_fold). An
// all_reduce and a reduce cut the vector into one piece a seat, as evenly as can be.
#include "graph/schedule/algorithms.hpp"
#include "graph/schedule/member_fold.hpp"

namespace troupe::rounds {
namespace {

/// The whole vector of a member that sits out, into its stand-in's sum.
void fold_in(round_writer& to, const member_fold& fold) {
  if (fold.is_out(to.place))
    to.send(fold.stand_in(to.place), to.whole());
  else if (fold.has_two(to.place))
    to.recv(fold.out_of(to.place), to.whole(), combining::reduce);
  to.end_round();
}

/// Of seats: `range(begin, end)` is what belongs to these. A seat ends with the sum of its own.
template <class Range>
void halve(round_writer& to, const member_fold& fold, Range range) {
  const auto seat = fold.seat(to.place);
  for (auto bit = fold.power() / 2; bit > 0; bit /= 2) {
    const auto mine = seat & ~(bit - 1), theirs = mine ^ bit;
    const auto partner = fold.member(seat ^ bit);
    to.exchange(partner, range(theirs, theirs + bit), partner, range(mine, mine + bit),
                combining::reduce);
  }
}

/// A seat begins with its own and ends with all.
template <class Range>
void gather_all(round_writer& to, const member_fold& fold, Range range) {
  const auto seat = fold.seat(to.place);
  for (std::uint32_t bit = 1; bit < fold.power(); bit *= 2) {
    const auto mine = seat & ~(bit - 1), theirs = mine ^ bit;
    const auto partner = fold.member(seat ^ bit);
    to.exchange(partner, range(mine, mine + bit), partner, range(theirs, theirs + bit));
  }
}

/// The vector cut evenly among the seats.
auto pieces(const round_writer& to, const member_fold& fold) {
  return [cut = part_layout(to.shape.parts.total(), fold.power())](std::uint32_t begin,
                                                                   std::uint32_t end) {
    return element_range{vector_name::data, cut.begin(begin), cut.begin(end) - cut.begin(begin)};
  };
}

/// The parts of the members at the seats.
auto parts(const round_writer& to, const member_fold& fold) {
  return [&to, &fold](std::uint32_t begin, std::uint32_t end) {
    return to.parts_at(fold.begin(begin), fold.begin(end));
  };
}

}  // namespace

void halving_doubling_all_reduce(round_writer& to) {
  const member_fold fold(to.members);
  fold_in(to, fold);
  if (fold.is_out(to.place)) {
    to.recv(fold.stand_in(to.place), to.whole());
    return to.end_round();
  }
  halve(to, fold, pieces(to, fold));
  gather_all(to, fold, pieces(to, fold));
  if (fold.has_two(to.place)) to.send(fold.out_of(to.place), to.whole());
  to.end_round();
}

void halving_doubling_reduce_scatter(round_writer& to) {
  const member_fold fold(to.members);
  fold_in(to, fold);
  if (fold.is_out(to.place)) {
    to.recv(fold.stand_in(to.place), to.part_at(to.place));
    return to.end_round();
  }
  halve(to, fold, parts(to, fold));
  if (fold.has_two(to.place)) {
    const auto other = fold.out_of(to.place);
    to.send(other, to.part_at(other));
  }
  to.end_round();
}

// A seat that still has all of the 2·bit seats around it gets, or gives, the half that is missing.
void halving_doubling_reduce(round_writer& to) {
  const member_fold fold(to.members, to.shape.root);
  fold_in(to, fold);
  if (fold.is_out(to.place)) return;
  const auto range = pieces(to, fold);
  halve(to, fold, range);
  const auto seat = fold.seat(to.place), from_root = seat ^ fold.seat(to.shape.root);
  for (std::uint32_t bit = 1; bit < fold.power(); bit *= 2) {
    const auto mine = seat & ~(bit - 1), theirs = mine ^ bit;
    const auto partner = fold.member(seat ^ bit);
    if ((from_root & bit) != 0) {
      to.send(partner, range(mine, mine + bit));
      return to.end_round();
    }
    to.recv(partner, range(theirs, theirs + bit));
    to.end_round();
  }
}

void halving_doubling_broadcast(round_writer& to) {
  binomial_scatter(to);
  recursive_doubling_all_gather(to);
}

}  // namespace troupe::rounds
