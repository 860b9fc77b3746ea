// float8: f8e4m3 and f8e5m2 (torch's float8_e4m3fn and float8_e5m2) to f32 and back, as half.hpp
// does it for wider ones.
//
// To f32 is exact. From f32 rounds to nearest, ties to even, and saturates as CUDA's conversions do
// for NCCL (__NV_SATFINITE): what is larger than the largest number, infinity too, becomes it; a
// NaN stays a NaN. f8e4m3 has no infinity: 0x7f is its NaN, 0x7e its largest number, 448.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "gpu/half.hpp"

namespace troupe {

struct f8e4m3 {
  std::uint8_t bits{};
};

struct f8e5m2 {
  std::uint8_t bits{};
};

inline float to_float(f8e4m3 x) {
  std::uint32_t sign = (x.bits & 0x80u) << 24, magnitude = x.bits & 0x7fu;
  float subnormal = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1.0p-9f;
  std::uint32_t number =
      magnitude < 8 ? std::bit_cast<std::uint32_t>(subnormal) : (magnitude << 20) + (120u << 23);
  return std::bit_cast<float>(sign | (magnitude == 0x7f ? 0x7fc00000 : number));
}

/// An f16 without its last eight bits.
inline float to_float(f8e5m2 x) { return to_float(f16{static_cast<std::uint16_t>(x.bits << 8)}); }

/// `fraction_bits` and `bias` are the format's, `largest` and `nan` numbers of it.
template <std::uint32_t fraction_bits, std::uint32_t bias, std::uint32_t largest, std::uint32_t nan>
std::uint8_t to_eight_bits(float x) {
  constexpr std::uint32_t dropped = 23 - fraction_bits;
  auto word = std::bit_cast<std::uint32_t>(x);
  std::uint32_t sign = (word >> 24) & 0x80, magnitude = word & 0x7fffffff;
  std::uint32_t rounded =
      (magnitude + (1u << (dropped - 1)) - 1 + ((magnitude >> dropped) & 1)) >> dropped;
  std::uint32_t normal = std::min(rounded - ((127 - bias) << fraction_bits), largest);
  // Added to a number whose last bit is the smallest subnormal, x is rounded to it by the adder.
  constexpr std::uint32_t shift = (127 + dropped + 1 - bias) << 23;
  std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(shift))
      - shift;
  std::uint32_t number = magnitude < ((128 - bias) << 23) ? subnormal : normal;
  return static_cast<std::uint8_t>(sign | (magnitude > 0x7f800000 ? nan : number));
}

inline f8e4m3 to_f8e4m3(float x) { return {to_eight_bits<3, 7, 0x7e, 0x7f>(x)}; }
inline f8e5m2 to_f8e5m2(float x) { return {to_eight_bits<2, 15, 0x7b, 0x7e>(x)}; }

}  // namespace troupe
