// number: what is to be known of a type of NCCL's to make numbers of it: its finite numbers in
// order, and for floats which sums and products are exact.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "gpu/float8.hpp"
#include "gpu/half.hpp"

namespace troupe::nccl_tests {

template <std::size_t Size>
using word_of_size = std::conditional_t<
    Size == 1, std::uint8_t,
    std::conditional_t<Size == 2, std::uint16_t,
                       std::conditional_t<Size == 4, std::uint32_t, std::uint64_t>>>;
template <class T>
using word_of = word_of_size<sizeof(T)>;

template <class T>
inline constexpr bool is_integer = std::is_integral_v<T>;

/// A float's format. Precision counts the leading bit; numbers from 2^-exponent_max to
/// 2^exponent_max are normal, and twice the last less a bit is finite.
template <class T>
struct float_format;
template <>
struct float_format<double> {
  static constexpr int precision = 53, exponent_max = 1022;
  static constexpr std::uint64_t largest = 0x7fefffffffffffff;
  static double rounded(double x) { return x; }
};
template <>
struct float_format<float> {
  static constexpr int precision = 24, exponent_max = 126;
  static constexpr std::uint64_t largest = 0x7f7fffff;
  static float rounded(double x) { return static_cast<float>(x); }
};
template <>
struct float_format<f16> {
  static constexpr int precision = 11, exponent_max = 14;
  static constexpr std::uint64_t largest = 0x7bff;
  static f16 rounded(double x) { return to_f16(static_cast<float>(x)); }
};
template <>
struct float_format<bf16> {
  static constexpr int precision = 8, exponent_max = 126;
  static constexpr std::uint64_t largest = 0x7f7f;
  static bf16 rounded(double x) { return to_bf16(static_cast<float>(x)); }
};
template <>
struct float_format<f8e4m3> {
  static constexpr int precision = 4, exponent_max = 6;
  static constexpr std::uint64_t largest = 0x7e;
  static f8e4m3 rounded(double x) { return to_f8e4m3(static_cast<float>(x)); }
};
template <>
struct float_format<f8e5m2> {
  static constexpr int precision = 3, exponent_max = 14;
  static constexpr std::uint64_t largest = 0x7b;
  static f8e5m2 rounded(double x) { return to_f8e5m2(static_cast<float>(x)); }
};

/// All finite numbers of the type in order, by place: 0 is the lowest. Of floats' zeros only +0.
template <class T>
struct in_order {
  static constexpr std::uint64_t last() {
    if constexpr (is_integer<T>)
      return std::numeric_limits<word_of<T>>::max();
    else
      return 2 * float_format<T>::largest;
  }
  static T at(std::uint64_t place) {
    if constexpr (is_integer<T>) {
      const auto lowest = static_cast<word_of<T>>(std::numeric_limits<T>::lowest());
      return std::bit_cast<T>(static_cast<word_of<T>>(place + lowest));
    } else {
      constexpr auto zero = float_format<T>::largest;
      constexpr auto sign = std::uint64_t{1} << (8 * sizeof(T) - 1);
      const auto bits = place < zero ? sign | (zero - place) : place - zero;
      return std::bit_cast<T>(static_cast<word_of<T>>(bits));
    }
  }
};

}  // namespace troupe::nccl_tests
