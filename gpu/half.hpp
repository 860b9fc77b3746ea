// half: f16 and bf16 to f32 and back, as arithmetic on words without branches, so that compilers
// vectorise loops of them.
//
// To f32 is exact. From f32 rounds to nearest, ties to even; overflow becomes infinity; a NaN stays
// a NaN (quiet). f16 follows M. Dukhan's FP16 library: a multiplication by a power of two does the
// work for subnormals.
#pragma once

#include <bit>
#include <cstdint>

namespace troupe {

struct f16 {
  std::uint16_t bits{};
};

struct bf16 {
  std::uint16_t bits{};
};

inline float to_float(bf16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}

inline bf16 to_bf16(float x) {
  auto word = std::bit_cast<std::uint32_t>(x);
  std::uint32_t rounded = (word + 0x7fff + ((word >> 16) & 1)) >> 16;
  std::uint32_t quiet = (word >> 16) | 0x40;
  bool is_nan = (word & 0x7fffffff) > 0x7f800000;
  return {static_cast<std::uint16_t>(is_nan ? quiet : rounded)};
}

inline float to_float(f16 x) {
  std::uint32_t word = static_cast<std::uint32_t>(x.bits) << 16;
  std::uint32_t sign = word & 0x80000000, magnitude = word << 1;
  float normal = std::bit_cast<float>((magnitude >> 4) + (0xe0u << 23)) * 0x1.0p-112f;
  float subnormal = std::bit_cast<float>((magnitude >> 17) | (126u << 23)) - 0.5f;
  std::uint32_t result = std::bit_cast<std::uint32_t>(magnitude < (1u << 27) ? subnormal : normal);
  return std::bit_cast<float>(sign | result);
}

inline f16 to_f16(float x) {
  auto word = std::bit_cast<std::uint32_t>(x);
  std::uint32_t sign = word & 0x80000000, magnitude = word << 1;
  // Added to a number whose exponent is 13 above, x is rounded to 10 bits by the adder; overflow is
  // infinity.
  float base = (std::bit_cast<float>(word & 0x7fffffff) * 0x1.0p+112f) * 0x1.0p-110f;
  std::uint32_t bias = magnitude & 0xff000000;
  bias = bias < 0x71000000 ? 0x71000000 : bias;
  auto bits = std::bit_cast<std::uint32_t>(std::bit_cast<float>((bias >> 1) + 0x07800000) + base);
  std::uint32_t number = ((bits >> 13) & 0x7c00) + (bits & 0x0fff);
  return {static_cast<std::uint16_t>((sign >> 16) | (magnitude > 0xff000000 ? 0x7e00 : number))};
}

}  // namespace troupe
