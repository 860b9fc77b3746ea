// reductions: for each reduction of NCCL's, what each member gives for one element and what it
// must come to, whatever the order in which the members are reduced.
//
// Integers wrap, so that their results are exact in any order. Of floats, members give numbers
// whose every partial result is exact: parts of a whole (sum, premulsum), powers of two and one
// other number (prod). An average's order and precision of division are NCCL's own affair: its two
// members that give something other than 0 leave it within the two units in the last place that
// nccl-tests allows. What is expected is known without what the members give.
// Not here: kernels (kernels.cpp).
#pragma once

#include "interpose/kernels/nccl_tests/element.hpp"
#include "interpose/kernels/nccl_tests/number.hpp"

namespace troupe::nccl_tests {

struct member {
  std::uint32_t number, of;
  std::uint32_t next() const { return number + 1 == of ? 0 : number + 1; }
};

/// What an element's draws are for.
namespace drawn_for {
inline constexpr std::uint64_t result = 0, sign = 1, scale = 2, chosen = 3, second = 4, low_bit = 5;
}

inline bool is_chosen(const element& e, member m) {
  return e.draw_to(drawn_for::chosen, m.of - 1) == m.number;
}

/// Differences around the circle of members: they add up to 0.
inline std::uint64_t difference(const element& e, member m) {
  return e.draw_of(m.next()) - e.draw_of(m.number);
}

template <class T>
T wrapped(std::uint64_t x) {
  return std::bit_cast<T>(static_cast<word_of<T>>(x));
}

/// A float's whole, in units of a power of two of which it has as many as are exact.
template <class T>
struct whole {
  std::uint64_t units;
  double unit;
  explicit whole(const element& e)
      : units(1
              + e.draw_to(drawn_for::result, (std::uint64_t{1} << float_format<T>::precision) - 1)),
        unit(std::ldexp(e.flip(drawn_for::sign) ? -1 : 1,
                        static_cast<int>(e.draw_to(drawn_for::scale, 6)) - 3)) {}
  T times(double count) const { return float_format<T>::rounded(count * unit); }
};

/// One member: nothing is reduced.
struct nothing {
  template <class T>
  static T given(const element& e, member) {
    return in_order<T>::at(e.draw_to(drawn_for::result, in_order<T>::last()));
  }
  template <class T>
  static T expected(const element& e, std::uint32_t) {
    return given<T>(e, {});
  }
};

struct sum {
  template <class T>
  static T given(const element& e, member m) {
    if constexpr (is_integer<T>) {
      return wrapped<T>(difference(e, m) + (is_chosen(e, m) ? e.draw(drawn_for::result) : 0));
    } else {
      const whole<T> all(e);
      const auto mine = e.share(all.units, m.number, m.of);
      return mine ? all.times(static_cast<double>(mine)) : T{};
    }
  }
  template <class T>
  static T expected(const element& e, std::uint32_t) {
    if constexpr (is_integer<T>) return wrapped<T>(e.draw(drawn_for::result));
    if constexpr (!is_integer<T>) {
      const whole<T> all(e);
      return all.times(static_cast<double>(all.units));
    }
  }
};

/// The scalar that nccl-tests gives to a member's premulsum (its verifiable.h).
inline std::uint32_t scalar_of(member m) { return m.number % 2 == 0 ? 1 : 2; }

struct premultiplied_sum {
  template <class T>
  static T given(const element& e, member m) {
    if constexpr (is_integer<T>) {
      auto half = difference(e, m) + (is_chosen(e, m) ? e.draw(drawn_for::result) : 0);
      if (scalar_of(m) == 2) return wrapped<T>(half);
      return wrapped<T>(2 * half + (m.number == 0 && e.flip(drawn_for::low_bit)));
    } else {
      const whole<T> all(e);
      const auto mine = e.share(all.units, m.number, m.of);
      return mine ? all.times(static_cast<double>(mine) / scalar_of(m)) : T{};
    }
  }
  template <class T>
  static T expected(const element& e, std::uint32_t members) {
    if constexpr (is_integer<T>)
      return wrapped<T>(2 * e.draw(drawn_for::result) + e.flip(drawn_for::low_bit));
    else
      return sum::expected<T>(e, members);
  }
};

struct product {
  template <class T>
  static T given(const element& e, member m) {
    if constexpr (is_integer<T>) {
      const auto quotient = (e.draw_of(m.next()) | 1) * inverse(e.draw_of(m.number) | 1);
      return wrapped<T>(is_chosen(e, m) ? quotient * e.draw(drawn_for::result) : quotient);
    } else {
      const bool is_negative = e.draw_of(m.next()) >> 63 != e.draw_of(m.number) >> 63;
      const auto exponent = static_cast<int>(e.share(exponent_of<T>(e), m.number, m.of));
      const double number = is_chosen(e, m) ? fraction<T>(e) : 1;
      return float_format<T>::rounded(std::ldexp(is_negative ? -number : number,
                                                 e.flip(drawn_for::sign) ? -exponent : exponent));
    }
  }
  template <class T>
  static T expected(const element& e, std::uint32_t) {
    if constexpr (is_integer<T>) {
      return wrapped<T>(e.draw(drawn_for::result));
    } else {
      const auto exponent = static_cast<int>(exponent_of<T>(e));
      return float_format<T>::rounded(
          std::ldexp(fraction<T>(e), e.flip(drawn_for::sign) ? -exponent : exponent));
    }
  }

 private:
  /// Of an odd number, modulo 2^64, by Newton's steps: each doubles the bits that are right.
  static std::uint64_t inverse(std::uint64_t odd) {
    std::uint64_t found = odd;  // the first three bits
    for (int bits = 3; bits < 64; bits *= 2) found *= 2 - odd * found;
    return found;
  }
  template <class T>
  static std::uint64_t exponent_of(const element& e) {
    return e.draw_to(drawn_for::scale, static_cast<std::uint64_t>(float_format<T>::exponent_max));
  }
  /// Of the chosen member: from 1 to 2, of either sign.
  template <class T>
  static double fraction(const element& e) {
    constexpr int bits = float_format<T>::precision - 1;
    const auto low = e.draw_to(drawn_for::result, (std::uint64_t{1} << bits) - 1);
    const double number = 1 + std::ldexp(static_cast<double>(low), -bits);
    return e.flip(drawn_for::low_bit) ? -number : number;
  }
};

/// One member has the result, the others something that does not come before it.
template <bool is_max>
struct extreme {
  template <class T>
  static T given(const element& e, member m) {
    const auto result = e.draw_to(drawn_for::result, in_order<T>::last());
    if (is_chosen(e, m)) return place<T>(result);
    return place<T>(e.draw_to(element::of_a_member + m.number, result));
  }
  template <class T>
  static T expected(const element& e, std::uint32_t) {
    return place<T>(e.draw_to(drawn_for::result, in_order<T>::last()));
  }

 private:
  template <class T>
  static T place(std::uint64_t from_its_end) {
    return in_order<T>::at(is_max ? from_its_end : in_order<T>::last() - from_its_end);
  }
};
using maximum = extreme<true>;
using minimum = extreme<false>;

struct average {
  template <class T>
  static T given(const element& e, member m) {
    if constexpr (is_integer<T>) {
      const auto mine = e.share(total<T>(e), m.number, m.of);
      return wrapped<T>(is_negative<T>(e) ? 0 - mine : mine);
    } else {
      const pair<T> two(e, m.of);
      return m.number == two.first    ? float_format<T>::rounded(two.of_first)
             : m.number == two.second ? float_format<T>::rounded(two.of_second)
                                      : T{};
    }
  }
  template <class T>
  static T expected(const element& e, std::uint32_t members) {
    if constexpr (is_integer<T>) {
      const auto quotient = total<T>(e) / members;
      return wrapped<T>(is_negative<T>(e) ? 0 - quotient : quotient);
    } else {
      const pair<T> two(e, members);
      return float_format<T>::rounded((two.of_first + two.of_second) / members);
    }
  }

 private:
  /// Sums that wrap have no average.
  template <class T>
  static std::uint64_t total(const element& e) {
    return e.draw_to(drawn_for::result, static_cast<std::uint64_t>(std::numeric_limits<T>::max()));
  }
  template <class T>
  static bool is_negative(const element& e) {
    return std::is_signed_v<T> && e.flip(drawn_for::sign);
  }
  template <class T>
  struct pair {
    std::uint64_t first, second;
    double of_first, of_second;
    pair(const element& e, std::uint32_t members) {
      constexpr auto units_max = (std::uint64_t{1} << float_format<T>::precision) - 1;
      first = e.draw_to(drawn_for::chosen, members - 1);
      second = (first + 1 + e.draw_to(drawn_for::second, members - 2)) % members;
      double unit = std::ldexp(1, static_cast<int>(e.draw_to(drawn_for::scale, 6)) - 3);
      const auto some = [&](std::uint64_t which) {
        return static_cast<double>(1 + e.draw_to(which, units_max)) * unit;
      };
      of_first = some(drawn_for::result);
      of_second = some(drawn_for::low_bit);
      // What may be rounded to 0 is positive: -0 is far from +0 by its bits.
      const double normal = std::ldexp(1, -float_format<T>::exponent_max);
      if (e.flip(drawn_for::sign) && (of_first + of_second) / members > 2 * normal) {
        of_first = -of_first;
        of_second = -of_second;
      }
    }
  };
};

}  // namespace troupe::nccl_tests
