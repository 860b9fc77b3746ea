// half_test: conversions against the compiler's own (f16, every value) and against the definition
// of rounding (bf16).
#include "gpu/half_rows.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <vector>

using namespace troupe;

namespace {

std::uint16_t compilers_f16(float x) {
  return std::bit_cast<std::uint16_t>(static_cast<_Float16>(x));
}
float compilers_float(std::uint16_t bits) {
  return static_cast<float>(std::bit_cast<_Float16>(bits));
}

/// Catch counts every CHECK; millions of comparisons go through one.
template <class Differs>
std::uint32_t first_word_where(Differs differs, std::uint32_t step) {
  std::uint32_t word = 0;
  do {
    if (differs(word)) return word;
    word += step;
  } while (word >= step);
  return 0xffffffff;
}

bool f16_differs(std::uint32_t word) {
  float x = std::bit_cast<float>(word);
  std::uint16_t ours = to_f16(x).bits;
  if (std::isnan(x)) return (ours & 0x7fff) <= 0x7c00;
  return ours != compilers_f16(x);
}

/// Not the nearest of its neighbours, or a tie not to even.
bool bf16_differs(std::uint32_t word) {
  float x = std::bit_cast<float>(word);
  bf16 ours = to_bf16(x);
  if (std::isnan(x)) return !std::isnan(to_float(ours));
  if (std::isinf(x)) return to_float(ours) != x;
  if ((ours.bits ^ (word >> 16)) & 0x8000) return true;
  auto value = [](std::uint32_t bits) {  // beyond the largest number lies 2^128, not infinity
    bits &= 0x7fff;
    return bits == 0x7f80 ? 0x1.0p128
                          : std::fabs(double{to_float(bf16{static_cast<std::uint16_t>(bits)})});
  };
  double magnitude = std::fabs(double{x}), distance = std::fabs(magnitude - value(ours.bits));
  std::uint32_t bits = ours.bits & 0x7fff;
  bool odd = bits & 1;
  for (std::uint32_t neighbour : {bits - 1, bits + 1}) {
    if (neighbour > 0x7f80) continue;
    double other = std::fabs(magnitude - value(neighbour));
    if (other < distance || (other == distance && odd)) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("every f16 becomes the f32 of the same value") {
  std::uint32_t wrong = 0x10000;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    float ours = to_float(f16{static_cast<std::uint16_t>(bits)});
    float theirs = compilers_float(static_cast<std::uint16_t>(bits));
    bool same = std::isnan(theirs)
                    ? std::isnan(ours)
                    : std::bit_cast<std::uint32_t>(ours) == std::bit_cast<std::uint32_t>(theirs);
    if (!same) wrong = std::min(wrong, bits);
  }
  CHECK(wrong == 0x10000);
}

TEST_CASE("f16 rounds to nearest even as the compiler does") {
  CHECK(first_word_where(f16_differs, 65521) == 0xffffffff);
  CHECK(to_f16(65504.0f).bits == 0x7bff);
  CHECK(to_f16(65520.0f).bits == 0x7c00);
  CHECK(to_f16(65519.996f).bits == 0x7bff);
  CHECK(to_f16(0x1.0p-24f).bits == 1);
  CHECK(to_f16(0x1.0p-25f).bits == 0);
  CHECK(to_f16(0x1.000002p-25f).bits == 1);
  CHECK(to_f16(-0.0f).bits == 0x8000);
}

TEST_CASE("every halfway point between two f16 rounds as the compiler does") {
  std::uint32_t wrong = 0x7c00;
  for (std::uint32_t bits = 0; bits < 0x7bff; ++bits) {
    float middle = (compilers_float(static_cast<std::uint16_t>(bits))
                    + compilers_float(static_cast<std::uint16_t>(bits + 1)))
                   / 2;
    for (float x : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e9f), -middle})
      if (to_f16(x).bits != compilers_f16(x)) wrong = std::min(wrong, bits);
  }
  CHECK(wrong == 0x7c00);
}

TEST_CASE("bf16 rounds to the nearest, ties to even, NaN stays NaN") {
  CHECK(first_word_where(bf16_differs, 32749) == 0xffffffff);
  CHECK(first_word_where(bf16_differs, 0x8000) == 0xffffffff);  // all halves
  CHECK(to_bf16(std::bit_cast<float>(0x7f800001u)).bits == 0x7fc0);
  CHECK(to_bf16(std::bit_cast<float>(0x7f7fffffu)).bits == 0x7f80);
  CHECK(to_float(bf16{0x3f80}) == 1.0f);
}

TEST_CASE("rows convert as their elements do, at any length and address") {
  std::vector<std::uint16_t> all(0x10000);
  for (std::uint32_t bits = 0; bits < all.size(); ++bits)
    all[bits] = static_cast<std::uint16_t>(bits);
  std::vector<std::byte> shifted(2 * all.size() + 1), back(2 * all.size() + 1);
  std::memcpy(shifted.data() + 1, all.data(), 2 * all.size());
  std::vector<float> floats(all.size());
  std::uint32_t wrong = 0;

  widen<f16>(shifted.data() + 1, floats.data(), all.size());
  for (auto bits : all) {
    float one = to_float(f16{bits});
    wrong += std::isnan(one)
                 ? !std::isnan(floats[bits])
                 : floats[bits] != one || std::signbit(floats[bits]) != std::signbit(one);
  }
  CHECK(wrong == 0);
  for (std::size_t count : {0, 1, 7, 8, 9, 1000}) {
    std::fill(back.begin(), back.end(), std::byte{0});
    narrow<f16>(floats.data(), back.data() + 1, count);
    CHECK(std::memcmp(back.data() + 1, all.data(), 2 * count) == 0);
    CHECK(back[1 + 2 * count] == std::byte{0});
  }

  // Floats between halves, over the whole range.
  for (std::uint32_t i = 0; i < floats.size(); ++i)
    floats[i] = std::bit_cast<float>(i * 65537u + 12345u);
  narrow<f16>(floats.data(), back.data() + 1, floats.size());
  for (std::uint32_t i = 0; i < floats.size(); ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, back.data() + 1 + 2 * i, 2);
    wrong += std::isnan(floats[i]) ? (bits & 0x7fff) <= 0x7c00 : bits != to_f16(floats[i]).bits;
  }
  CHECK(wrong == 0);

  widen<bf16>(shifted.data() + 1, floats.data(), all.size());
  narrow<bf16>(floats.data(), back.data() + 1, floats.size());
  for (auto bits : all) {
    std::uint16_t again;
    std::memcpy(&again, back.data() + 1 + 2 * bits, 2);
    wrong += std::isnan(to_float(bf16{bits})) ? again != (bits | 0x40) : again != bits;
  }
  CHECK(wrong == 0);
}
