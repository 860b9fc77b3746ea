// float8_test: eight-bit floats against tables made from the definition of their bits, and their
// sums of every pair against the nearest number of the table.
#include "gpu/float8.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "gpu/backend.hpp"

using namespace troupe;

namespace {

struct format {
  element_type type;
  int fraction_bits, bias;
  int largest;  ///< the bits of the largest number
  bool has_infinity;
};

constexpr format formats[] = {{element_type::f8e4m3, 3, 7, 0x7e, false},
                              {element_type::f8e5m2, 2, 15, 0x7b, true}};

double value(const format& of, int bits) {
  int magnitude = bits & 0x7f, exponent = magnitude >> of.fraction_bits,
      fraction = magnitude & ((1 << of.fraction_bits) - 1);
  double number;
  if (magnitude > of.largest)
    number = of.has_infinity && magnitude == of.largest + 1
                 ? std::numeric_limits<double>::infinity()
                 : std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    number = std::ldexp(fraction, 1 - of.bias - of.fraction_bits);
  else
    number = std::ldexp((1 << of.fraction_bits) + fraction, exponent - of.bias - of.fraction_bits);
  return bits & 0x80 ? -number : number;
}

float ours(const format& of, int bits) {
  auto byte = static_cast<std::uint8_t>(bits);
  return of.has_infinity ? to_float(f8e5m2{byte}) : to_float(f8e4m3{byte});
}

int rounded(const format& of, float x) {
  return of.has_infinity ? to_f8e5m2(x).bits : to_f8e4m3(x).bits;
}

/// The bits of the number nearest to x, ties to the even one; a sum that is 0 has the sign
/// `negative`.
int nearest(const format& of, double x, bool negative) {
  int best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int bits = 0; bits <= of.largest; ++bits) {
    double distance = std::fabs(value(of, bits) - std::fabs(x));
    if (distance < least || (distance == least && bits % 2 == 0 && !std::isinf(distance))) {
      least = distance;
      best = bits;
    }
  }
  if (std::isinf(x)) best = of.largest;
  return best | (negative ? 0x80 : 0);
}

bool is_nan(const format& of, int bits) { return std::isnan(value(of, bits)); }

}  // namespace

TEST_CASE("every eight-bit float becomes the f32 of the same value, and back") {
  for (auto& of : formats)
    for (int bits = 0; bits < 256; ++bits) {
      INFO(to_string(of.type) << " " << bits);
      double wanted = value(of, bits);
      float found = ours(of, bits);
      if (std::isnan(wanted)) {
        CHECK(std::isnan(found));
        CHECK(is_nan(of, rounded(of, found)));
        continue;
      }
      CHECK(double{found} == wanted);
      CHECK(std::signbit(found) == (bits >= 0x80));
      CHECK(rounded(of, found) == (std::isinf(wanted) ? (bits & 0x80) | of.largest : bits));
    }
}

TEST_CASE("halfway between two eight-bit floats is rounded to the even one") {
  for (auto& of : formats)
    for (int bits = 0; bits < of.largest; ++bits) {
      INFO(to_string(of.type) << " " << bits);
      auto middle = static_cast<float>((value(of, bits) + value(of, bits + 1)) / 2);
      CHECK(rounded(of, middle) == bits + bits % 2);
      CHECK(rounded(of, -middle) == (0x80 | (bits + bits % 2)));
      CHECK(rounded(of, std::nextafter(middle, 0.0f)) == bits);
      CHECK(rounded(of, std::nextafter(middle, 1e9f)) == bits + 1);
    }
}

TEST_CASE("what is too large for eight bits is their largest number") {
  for (auto& of : formats)
    for (float x : {449.0f, 57345.0f, 1e30f, std::numeric_limits<float>::infinity()}) {
      if (x < value(of, of.largest)) continue;
      CHECK(rounded(of, x) == of.largest);
      CHECK(rounded(of, -x) == (of.largest | 0x80));
    }
  CHECK(to_float(to_f8e4m3(1e6f)) == 448.0f);
  CHECK(to_float(to_f8e5m2(1e6f)) == 57344.0f);
}

TEST_CASE("the sum of every two eight-bit floats is the nearest there is") {
  auto where = make_host_backend();
  for (auto& of : formats) {
    std::vector<std::byte> into, other;
    for (int a = 0; a < 256; ++a)
      for (int b = 0; b < 256; ++b) {
        into.push_back(static_cast<std::byte>(a));
        other.push_back(static_cast<std::byte>(b));
      }
    const std::span<const std::byte> from[] = {other};
    where->fold(of.type, reduction::sum, into, from);
    int wrong = 0;
    for (int a = 0; a < 256; ++a)
      for (int b = 0; b < 256; ++b) {
        auto found = static_cast<int>(into[static_cast<std::size_t>(256 * a + b)]);
        double sum = value(of, a) + value(of, b);
        wrong +=
            std::isnan(sum) ? !is_nan(of, found) : found != nearest(of, sum, std::signbit(sum));
      }
    INFO(to_string(of.type));
    CHECK(wrong == 0);
  }
}

TEST_CASE("averages of eight-bit floats are finite where their sums saturate") {
  auto where = make_host_backend();
  for (auto& of : formats) {
    std::vector<std::byte> into(1, static_cast<std::byte>(of.largest)), other = into;
    const std::span<const std::byte> from[] = {other, other, other};
    where->fold(of.type, reduction::avg, into, from, 4);
    CHECK(into == other);
    where->fold(of.type, reduction::sum, into, from);
    CHECK(into == other);
  }
}
