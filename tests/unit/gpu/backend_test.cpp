// backend_test: what every backend owes, for every type and reduction that exist, against one
// element at a time in plain arithmetic. Another implementation joins by a line in backends().
#include "gpu/backend.hpp"

#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "gpu/float8.hpp"
#include "gpu/half.hpp"

using namespace troupe;

namespace {

using buffer = std::vector<std::byte>;

std::vector<std::unique_ptr<backend>> backends() {
  std::vector<std::unique_ptr<backend>> all;
  all.push_back(make_host_backend());
  return all;
}

template <class T>
T at(const buffer& from, std::size_t i) {
  T x;
  std::memcpy(&x, from.data() + i * sizeof(T), sizeof(T));
  return x;
}

template <class T>
void put(buffer& to, std::size_t i, T x) {
  std::memcpy(to.data() + i * sizeof(T), &x, sizeof(T));
}

// One element of each member folded in the plainest way, by kind of arithmetic.

template <class F>
F fold_floats(reduction reduce, const std::vector<F>& xs) {
  F sum = xs[0];
  for (std::size_t i = 1; i < xs.size(); ++i) {
    F x = xs[i];
    if (reduce == reduction::prod)
      sum *= x;
    else if (reduce == reduction::min || reduce == reduction::max) {
      if (std::isnan(sum) || std::isnan(x))
        sum = std::numeric_limits<F>::quiet_NaN();
      else
        sum = reduce == reduction::min ? std::fmin(sum, x) : std::fmax(sum, x);
    } else
      sum += x;
  }
  return sum;
}

/// Modulo 2^64, then cut to the type.
template <class T>
T fold_integers(reduction reduce, const std::vector<T>& xs) {
  T sum = xs[0];
  for (std::size_t i = 1; i < xs.size(); ++i) {
    T a = sum, b = xs[i];
    switch (reduce) {
      case reduction::prod:
        sum = static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
        break;
      case reduction::min:
        sum = static_cast<T>(a < b ? a : b);
        break;
      case reduction::max:
        sum = static_cast<T>(a > b ? a : b);
        break;
      case reduction::band:
        sum = static_cast<T>(a & b);
        break;
      case reduction::bor:
        sum = static_cast<T>(a | b);
        break;
      case reduction::bxor:
        sum = static_cast<T>(a ^ b);
        break;
      default:
        sum = static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    }
  }
  return sum;
}

std::uint8_t fold_booleans(reduction reduce, const std::vector<std::uint8_t>& xs) {
  unsigned trues = 0;
  for (auto x : xs) trues += x != 0;
  if (reduce == reduction::prod || reduce == reduction::min || reduce == reduction::band)
    return trues == xs.size();
  return reduce == reduction::bxor ? trues % 2 : trues > 0;
}

template <class F>
std::array<F, 2> multiply_complex(const std::vector<std::array<F, 2>>& xs) {
  auto [re, im] = xs[0];
  for (std::size_t i = 1; i < xs.size(); ++i) {
    auto [c, d] = xs[i];
    volatile F rc = re * c, id = im * d, rd = re * d,
               ic = im * c;  // no fused multiply-add here either
    re = rc - id;
    im = rd + ic;
  }
  return {re, im};
}

float half_value(element_type type, std::uint16_t bits) {
  return type == element_type::f16 ? to_float(f16{bits}) : to_float(bf16{bits});
}

std::uint16_t half_bits(element_type type, float x) {
  return type == element_type::f16 ? to_f16(x).bits : to_bf16(x).bits;
}

/// Element i of a buffer of floats narrower than f32.
float narrow_at(element_type type, const buffer& from, std::size_t i) {
  if (type == element_type::f8e4m3) return to_float(f8e4m3{at<std::uint8_t>(from, i)});
  if (type == element_type::f8e5m2) return to_float(f8e5m2{at<std::uint8_t>(from, i)});
  return half_value(type, at<std::uint16_t>(from, i));
}

void put_narrow(element_type type, buffer& to, std::size_t i, float x) {
  if (type == element_type::f8e4m3) return put(to, i, to_f8e4m3(x).bits);
  if (type == element_type::f8e5m2) return put(to, i, to_f8e5m2(x).bits);
  put(to, i, half_bits(type, x));
}

template <class T>
std::vector<T> column(const std::vector<buffer>& members, std::size_t i) {
  std::vector<T> xs;
  for (auto& member : members) xs.push_back(at<T>(member, i));
  return xs;
}

template <class T, class Wide = std::int64_t>
void reference_integers(reduction reduce, const std::vector<buffer>& members, buffer& to) {
  for (std::size_t i = 0; i < to.size() / sizeof(T); ++i) {
    T folded = fold_integers(reduce, column<T>(members, i));
    if (reduce == reduction::avg)
      folded = static_cast<T>(Wide{folded} / static_cast<Wide>(members.size()));
    put(to, i, folded);
  }
}

template <class F>
void reference_floats(reduction reduce, const std::vector<buffer>& members, buffer& to) {
  for (std::size_t i = 0; i < to.size() / sizeof(F); ++i) {
    F folded = fold_floats(reduce, column<F>(members, i));
    if (reduce == reduction::avg) folded /= static_cast<F>(members.size());
    put(to, i, folded);
  }
}

template <class F>
void reference_complex(reduction reduce, const std::vector<buffer>& members, buffer& to) {
  if (reduce != reduction::prod) return reference_floats<F>(reduce, members, to);
  for (std::size_t i = 0; i < to.size() / (2 * sizeof(F)); ++i)
    put(to, i, multiply_complex(column<std::array<F, 2>>(members, i)));
}

void reference_narrow(element_type type, reduction reduce, const std::vector<buffer>& members,
                      buffer& to) {
  if (members.size() == 1) return;
  for (std::size_t i = 0; i < to.size() / size_of(type); ++i) {
    std::vector<float> xs;
    for (auto& member : members) xs.push_back(narrow_at(type, member, i));
    if (reduce == reduction::avg)
      for (auto& x : xs) x *= 1.0f / static_cast<float>(members.size());
    put_narrow(type, to, i, fold_floats(reduce, xs));
  }
}

buffer reference(element_type type, reduction reduce, const std::vector<buffer>& members) {
  buffer to = members[0];
  switch (type) {
    case element_type::f64:
      reference_floats<double>(reduce, members, to);
      break;
    case element_type::f32:
      reference_floats<float>(reduce, members, to);
      break;
    case element_type::f16:
    case element_type::bf16:
    case element_type::f8e4m3:
    case element_type::f8e5m2:
      reference_narrow(type, reduce, members, to);
      break;
    case element_type::i64:
      reference_integers<std::int64_t>(reduce, members, to);
      break;
    case element_type::i32:
      reference_integers<std::int32_t>(reduce, members, to);
      break;
    case element_type::i16:
      reference_integers<std::int16_t>(reduce, members, to);
      break;
    case element_type::i8:
      reference_integers<std::int8_t>(reduce, members, to);
      break;
    case element_type::u8:
      reference_integers<std::uint8_t>(reduce, members, to);
      break;
    case element_type::u32:
      reference_integers<std::uint32_t>(reduce, members, to);
      break;
    case element_type::u64:
      reference_integers<std::uint64_t, std::uint64_t>(reduce, members, to);
      break;
    case element_type::boolean:
      for (std::size_t i = 0; i < to.size(); ++i)
        put(to, i, fold_booleans(reduce, column<std::uint8_t>(members, i)));
      break;
    case element_type::c64:
      reference_complex<float>(reduce, members, to);
      break;
    case element_type::c128:
      reference_complex<double>(reduce, members, to);
      break;
  }
  return to;
}

template <class F>
bool same_floats(const buffer& a, const buffer& b, bool zeros_have_signs) {
  for (std::size_t i = 0; i < a.size() / sizeof(F); ++i) {
    F x = at<F>(a, i), y = at<F>(b, i);
    if (std::isnan(x) != std::isnan(y) || (!std::isnan(x) && x != y)) return false;
    if (zeros_have_signs && !std::isnan(x) && std::signbit(x) != std::signbit(y)) return false;
  }
  return true;
}

/// Equal to the bit, but for which NaN a NaN is, and which zero is the least.
bool same(element_type type, reduction reduce, const buffer& a, const buffer& b) {
  bool signs = reduce != reduction::min && reduce != reduction::max;
  if (type == element_type::f64 || type == element_type::c128)
    return same_floats<double>(a, b, signs);
  if (type == element_type::f32 || type == element_type::c64)
    return same_floats<float>(a, b, signs);
  if (multiplies_first(reduction::avg, type)) {  // narrow
    const auto count = a.size() / size_of(type);
    buffer wide_a(count * sizeof(float)), wide_b(count * sizeof(float));
    for (std::size_t i = 0; i < count; ++i) {
      put(wide_a, i, narrow_at(type, a, i));
      put(wide_b, i, narrow_at(type, b, i));
    }
    return same_floats<float>(wide_a, wide_b, signs);
  }
  return a == b;
}

template <class F>
F awkward_float(std::mt19937_64& random) {
  using limits = std::numeric_limits<F>;
  const F values[] = {limits::quiet_NaN(),
                      limits::infinity(),
                      -limits::infinity(),
                      F(0),
                      -F(0),
                      limits::denorm_min(),
                      -limits::min(),
                      limits::max(),
                      limits::lowest(),
                      F(1),
                      F(-1),
                      F(1) / 3,
                      F(65504),
                      F(1e-7)};
  // Rarely the first three, which swallow all others.
  if (random() % 16 == 0) return values[random() % 3];
  if (random() % 2 == 0) return values[3 + random() % (std::size(values) - 3)];
  return static_cast<F>(static_cast<double>(random() % 2000001) / 1e3 - 1e3);
}

buffer awkward(element_type type, std::size_t count, std::mt19937_64& random) {
  buffer to(count * size_of(type));
  switch (type) {
    case element_type::f64:
    case element_type::c128:
      for (std::size_t i = 0; i < to.size() / 8; ++i) put(to, i, awkward_float<double>(random));
      break;
    case element_type::f32:
    case element_type::c64:
      for (std::size_t i = 0; i < to.size() / 4; ++i) put(to, i, awkward_float<float>(random));
      break;
    case element_type::f16:
    case element_type::bf16:
      for (std::size_t i = 0; i < count; ++i)
        put(to, i,
            random() % 4 ? half_bits(type, awkward_float<float>(random))
                         : static_cast<std::uint16_t>(random()));
      break;
    case element_type::f8e4m3:
    case element_type::f8e5m2:
      for (auto& byte : to) byte = static_cast<std::byte>(random());
      break;
    default:  // any bits are an integer, and the extremes are frequent among bytes of 0, 1, 0x7f,
              // 0x80 and 0xff
      for (auto& byte : to) {
        const unsigned bytes[] = {0, 1, 0x7f, 0x80, 0xff, static_cast<unsigned>(random() & 0xff)};
        byte = static_cast<std::byte>(bytes[random() % std::size(bytes)]);
      }
  }
  return to;
}

buffer folded_by(backend& where, element_type type, reduction reduce,
                 const std::vector<buffer>& members) {
  buffer into = members[0];
  std::vector<std::span<const std::byte>> from(members.begin() + 1, members.end());
  auto count = static_cast<std::uint32_t>(members.size());
  where.fold(type, reduce, into, from, multiplies_first(reduce, type) ? count : 1);
  where.finish(type, reduce, into, count);
  return into;
}

}  // namespace

TEST_CASE("every reduction of every type is the plain one, element by element") {
  std::mt19937_64 random(7);
  for (auto& where : backends())
    for (int t = 0; t < element_type_count; ++t)
      for (int r = 0; r < reduction_count; ++r) {
        auto type = static_cast<element_type>(t);
        auto reduce = static_cast<reduction>(r);
        if (!exists(reduce, type)) continue;
        for (std::size_t count : {0, 1, 7, 4097})
          for (std::size_t members : {1, 2, 5, 8, 11}) {
            INFO(where->name() << ": " << to_string(reduce) << " of " << to_string(type) << " × "
                               << count << ", " << members << " members");
            std::vector<buffer> parts;
            for (std::size_t m = 0; m < members; ++m) parts.push_back(awkward(type, count, random));
            bool one_boolean = members == 1 && type == element_type::boolean;
            auto expected = one_boolean ? parts[0] : reference(type, reduce, parts);
            CHECK(same(type, reduce, folded_by(*where, type, reduce, parts), expected));
          }
      }
}

TEST_CASE("folding buffers at odd addresses gives the same bits") {
  std::mt19937_64 random(8);
  for (auto& where : backends())
    for (auto type :
         {element_type::f64, element_type::f16, element_type::i32, element_type::c128}) {
      std::vector<buffer> parts;
      for (int m = 0; m < 6; ++m) parts.push_back(awkward(type, 1000, random));
      auto expected = folded_by(*where, type, reduction::sum, parts);
      std::vector<buffer> shifted;
      std::vector<std::span<const std::byte>> from;
      for (auto& part : parts) {
        shifted.emplace_back(part.size() + 1);
        std::memcpy(shifted.back().data() + 1, part.data(), part.size());
      }
      for (std::size_t m = 1; m < parts.size(); ++m)
        from.push_back(std::span(shifted[m]).subspan(1));
      auto into = std::span(shifted[0]).subspan(1);
      where->fold(type, reduction::sum, into, from);
      CHECK(std::memcmp(into.data(), expected.data(), expected.size()) == 0);
    }
}

TEST_CASE("a long vector's sum does not depend on where its stripes end") {
  std::mt19937_64 random(9);
  for (auto& where : backends())
    for (auto type : {element_type::f32, element_type::bf16, element_type::i8}) {
      std::vector<buffer> parts;
      for (int m = 0; m < 3; ++m) parts.push_back(awkward(type, 50021, random));
      CHECK(same(type, reduction::sum, folded_by(*where, type, reduction::sum, parts),
                 reference(type, reduction::sum, parts)));
    }
}

TEST_CASE("halves are accumulated in f32 and rounded once a call") {
  for (auto& where : backends()) {
    std::vector<buffer> parts(5, buffer(2));
    put(parts[0], 0, to_f16(2048.0f).bits);
    for (int m = 1; m < 5; ++m) put(parts[m], 0, to_f16(1.0f).bits);
    // Rounded after each step it would stay 2048.
    CHECK(to_float(f16{
              at<std::uint16_t>(folded_by(*where, element_type::f16, reduction::sum, parts), 0)})
          == 2052.0f);
  }
}

TEST_CASE("averages of halves are finite where their sums are not") {
  for (auto& where : backends())
    for (auto [type, bits] : {std::pair{element_type::f16, to_f16(40000.0f).bits},
                              std::pair{element_type::bf16, to_bf16(3e38f).bits}}) {
      INFO(to_string(type));
      std::vector<buffer> parts(8, buffer(2));
      for (auto& part : parts) put(part, 0, bits);
      auto sum = folded_by(*where, type, reduction::sum, parts);
      CHECK(std::isinf(half_value(type, at<std::uint16_t>(sum, 0))));
      CHECK(folded_by(*where, type, reduction::avg, parts) == parts[0]);
      // Alone, a member's part is what is added to other parts later.
      auto fraction = parts[0];
      where->fold(type, reduction::avg, fraction, {}, 8);
      CHECK(half_value(type, at<std::uint16_t>(fraction, 0)) == half_value(type, bits) / 8);
    }
}

TEST_CASE("averages of integers truncate towards zero") {
  for (auto& where : backends()) {
    std::vector<buffer> parts(2, buffer(8));
    put<std::int32_t>(parts[0], 0, -4);
    put<std::int32_t>(parts[1], 0, -3);
    put<std::int32_t>(parts[0], 1, 4);
    put<std::int32_t>(parts[1], 1, 3);
    auto average = folded_by(*where, element_type::i32, reduction::avg, parts);
    CHECK(at<std::int32_t>(average, 0) == -3);
    CHECK(at<std::int32_t>(average, 1) == 3);
  }
}

TEST_CASE("memory is aligned, writable, and refused when there is none") {
  for (auto& where : backends()) {
    for (std::uint64_t size : {0, 1, 64, 100000}) {
      auto got = where->allocate(bytes{size});
      REQUIRE(got);
      CHECK(got->size() == size);
      CHECK(reinterpret_cast<std::uintptr_t>(got->data()) % 64 == 0);
      buffer pattern(size, std::byte{0x5a});
      where->copy(*got, pattern);
      buffer back(size);
      where->copy(back, *got);
      CHECK(back == pattern);
      where->release(*got);
    }
    for (std::uint64_t size : {1ull << 60, ~0ull}) {
      auto refused = where->allocate(bytes{size});
      REQUIRE_FALSE(refused);
      CHECK(refused.error().code == errc::no_resources);
    }
  }
}

TEST_CASE("several threads fold at the same time on disjoint buffers") {
  std::mt19937_64 random(10);
  for (auto& where : backends()) {
    std::vector<std::vector<buffer>> jobs;
    std::vector<buffer> results(4);
    for (int j = 0; j < 4; ++j) {
      jobs.emplace_back();
      for (int m = 0; m < 5; ++m) jobs.back().push_back(awkward(element_type::f16, 20000, random));
    }
    std::vector<std::thread> threads;
    for (std::size_t j = 0; j < jobs.size(); ++j)
      threads.emplace_back(
          [&, j] { results[j] = folded_by(*where, element_type::f16, reduction::sum, jobs[j]); });
    for (auto& thread : threads) thread.join();
    for (std::size_t j = 0; j < jobs.size(); ++j)
      CHECK(results[j] == folded_by(*where, element_type::f16, reduction::sum, jobs[j]));
  }
}
