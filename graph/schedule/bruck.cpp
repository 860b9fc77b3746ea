// bruck: ⌈log2 n⌉ rounds, in each of which a member sends one message of many parts.
//
// Source: Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient algorithms for all-to-all communications
// in multiport message-passing systems", IEEE Trans. Parallel Distrib. Syst. 8 (1997),
// doi:10.1109/71.642949. all_gather: as there, but in place, since ranges wrap. all_to_all: for
// equal counts; what is for the member j places on lies in slot j, and moves by 2^k places in round
// k if bit k of j is set; packed, since a message is one range.
#include "graph/schedule/algorithms.hpp"

namespace troupe::rounds {

void bruck_all_gather(round_writer& to) {
  const auto n = to.members, self = to.place;
  for (std::uint64_t have = 1; have < n; have *= 2) {
    const auto d = static_cast<std::uint32_t>(have), count = std::min(d, n - d);
    to.exchange(to.previous(d), to.parts_at(self, self + count), to.next(d),
                to.parts_at(self + d, self + d + count));
  }
}

namespace {

/// All-to-all's slots, then the packed message to go, then the one that came.
class slots {
 public:
  slots(round_writer& to, std::uint64_t part) : to_(to), part_(part) {}

  element_range all() const { return {vector_name::scratch, 0, part_ * to_.members}; }
  element_range one(std::uint32_t slot) const {
    return {vector_name::scratch, slot * part_, part_};
  }
  element_range going(std::uint64_t slots) const { return area(1, slots); }
  element_range come(std::uint64_t slots) const { return area(2, slots); }

  /// Copies the slots with the bit between their places and `area`, a round; their number.
  template <class Copy>
  std::uint64_t each_run(std::uint32_t bit, element_range area, Copy copy) {
    std::uint64_t done = 0;
    for (std::uint64_t slot = bit; slot < to_.members; slot += 2 * std::uint64_t{bit}) {
      const auto run = std::min<std::uint64_t>(bit, to_.members - slot);
      copy({vector_name::scratch, slot * part_, run * part_},
           {vector_name::scratch, area.begin + done * part_, run * part_});
      done += run;
    }
    to_.end_round();
    return done;
  }

 private:
  element_range area(std::uint64_t number, std::uint64_t slots) const {
    return {vector_name::scratch, number * part_ * to_.members, slots * part_};
  }
  round_writer& to_;
  std::uint64_t part_;
};

}  // namespace

void bruck_all_to_all(round_writer& to) {
  const auto n = to.members, self = to.place;
  const auto part = to.shape.parts.count(0);
  slots of(to, part);
  to.local({vector_name::data, self * part, n * part}, of.all());
  to.end_round();
  for (std::uint64_t distance = 1; distance < n; distance *= 2) {
    const auto d = static_cast<std::uint32_t>(distance);
    const auto count = of.each_run(
        d, of.going(0), [&](element_range slot, element_range packed) { to.local(slot, packed); });
    to.exchange(to.next(d), of.going(count), to.previous(d), of.come(count));
    of.each_run(d, of.come(0),
                [&](element_range slot, element_range packed) { to.local(packed, slot); });
  }
  for (std::uint32_t j = 0; j < n; ++j)  // slot j came from j places before
    to.local(of.one(j), {vector_name::result, to.previous(j) * part, part});
  to.end_round();
}

}  // namespace troupe::rounds
