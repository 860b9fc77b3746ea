// member_fold: any number of members on the seats of a power of two.
//
// Of the first n - power pairs (0,1), (2,3), … one member sits out and the other, its stand-in,
// sits for both; which one that is may be chosen by `stays`: a member that must have a seat. The
// members of a range of seats are a range.
#pragma once

#include <bit>
#include <cstdint>

namespace troupe {

class member_fold {
 public:
  static constexpr std::uint32_t anyone = ~std::uint32_t{0};

  explicit member_fold(std::uint32_t members, std::uint32_t stays = anyone)
      : power_(std::bit_floor(members)), pairs_(members - power_), stays_(stays) {}

  std::uint32_t power() const { return power_; }  ///< seats
  bool is_out(std::uint32_t member) const {
    return member < 2 * pairs_ && member != sitting(member / 2);
  }
  /// Of a seated one: does another sit out for it?
  bool has_two(std::uint32_t member) const { return member < 2 * pairs_; }
  std::uint32_t stand_in(std::uint32_t out) const { return out ^ 1; }
  std::uint32_t out_of(std::uint32_t seated) const { return seated ^ 1; }
  std::uint32_t seat(std::uint32_t member) const {
    return member < 2 * pairs_ ? member / 2 : member - pairs_;
  }
  std::uint32_t member(std::uint32_t seat) const {
    return seat < pairs_ ? sitting(seat) : seat + pairs_;
  }
  /// The first member of those at the seat; of `power()`: the number of members.
  std::uint32_t begin(std::uint32_t seat) const { return seat < pairs_ ? 2 * seat : seat + pairs_; }

 private:
  /// Of a pair the odd one, unless the even one must stay.
  std::uint32_t sitting(std::uint32_t pair) const {
    return 2 * pair + (stays_ == 2 * pair ? 0 : 1);
  }
  std::uint32_t power_, pairs_, stays_;
};

}  // namespace troupe
