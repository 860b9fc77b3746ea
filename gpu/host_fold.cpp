// host_fold: loops that the compiler vectorises (this file is built with -O3), a stripe at a time
// over all sources so that `into` stays in the first cache, four sources a pass so that it is
// seldom loaded and stored.
//
// Each element is folded alone and left to right: neither stripes, passes nor vectors change a bit
// of the result. No fused multiply-add, no reassociation. Buffers may lie at any address: elements
// are loaded and stored by memcpy.
#include "gpu/host_fold.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "gpu/backend.hpp"
#include "gpu/half_rows.hpp"
#include "messages/assert.hpp"

namespace troupe {

namespace {

constexpr std::size_t stripe_bytes = 8192;
constexpr std::size_t row_floats = stripe_bytes / sizeof(float);

using sources = std::span<const std::span<const std::byte>>;

template <class T>
T load(const std::byte* from, std::size_t i) {
  T x;
  std::memcpy(&x, from + i * sizeof(T), sizeof(T));
  return x;
}

template <class T>
void store(std::byte* to, std::size_t i, T x) {
  std::memcpy(to + i * sizeof(T), &x, sizeof(T));
}

template <class T>
struct complex_of {
  T real, imaginary;
};

// Operations. Integers that wrap are unsigned here; `1u *` keeps small ones from becoming int.

struct add {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};

struct multiply {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>)
      return a * b;
    else
      return static_cast<T>(1u * a * b);
  }
  template <class T>
  complex_of<T> operator()(complex_of<T> a, complex_of<T> b) const {
    return {a.real * b.real - a.imaginary * b.imaginary,
            a.real * b.imaginary + a.imaginary * b.real};
  }
};

/// b when it is smaller or a NaN: a NaN once met stays, for nothing is smaller.
struct minimum {
  template <class T>
  T operator()(T a, T b) const {
    return ((b < a) | (b != b)) ? b : a;
  }
};

struct maximum {
  template <class T>
  T operator()(T a, T b) const {
    return ((b > a) | (b != b)) ? b : a;
  }
};

struct bit_and {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};

struct bit_or {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};

struct bit_xor {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};

/// The same on truth values: any byte but 0 is true, the result is 0 or 1.
template <class Op>
struct logical {
  std::uint8_t operator()(std::uint8_t a, std::uint8_t b) const {
    return Op{}(static_cast<std::uint8_t>(a != 0), static_cast<std::uint8_t>(b != 0));
  }
};

template <class T>
T widened(T x) {
  return x;
}
float widened(bf16 x) { return to_float(x); }

// Sums are of type Sum, sources' elements of type T.

template <class Sum, class T, class Op>
void fold_one(std::byte* __restrict into, const std::byte* __restrict a, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    store(into, i, Op{}(load<Sum>(into, i), widened(load<T>(a, i))));
}

template <class Sum, class T, class Op>
void fold_four(std::byte* __restrict into, const std::byte* __restrict a,
               const std::byte* __restrict b, const std::byte* __restrict c,
               const std::byte* __restrict d, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Sum x = Op{}(load<Sum>(into, i), widened(load<T>(a, i)));
    x = Op{}(x, widened(load<T>(b, i)));
    x = Op{}(x, widened(load<T>(c, i)));
    store(into, i, Op{}(x, widened(load<T>(d, i))));
  }
}

/// All sources' elements, from their byte `begin` on, into a stripe of sums.
template <class Sum, class T, class Op>
void fold_stripe(std::byte* into, sources from, std::size_t begin, std::size_t count) {
  std::size_t k = 0;
  for (; k + 4 <= from.size(); k += 4)
    fold_four<Sum, T, Op>(into, from[k].data() + begin, from[k + 1].data() + begin,
                          from[k + 2].data() + begin, from[k + 3].data() + begin, count);
  for (; k < from.size(); ++k) fold_one<Sum, T, Op>(into, from[k].data() + begin, count);
}

template <class T, class Op>
void fold_as(std::span<std::byte> into, sources from) {
  for (std::size_t begin = 0; begin < into.size(); begin += stripe_bytes) {
    std::size_t count = std::min(stripe_bytes, into.size() - begin) / sizeof(T);
    fold_stripe<T, T, Op>(into.data() + begin, from, begin, count);
  }
}

/// Halves (and eight-bit floats) are summed in a row of floats. bf16 become floats on the way; the
/// others in a row of their own first, f16 because processors have instructions for it.
template <class Half, class Op>
void fold_half(std::span<std::byte> into, sources from) {
  float sums[row_floats], others[row_floats];
  auto* to = reinterpret_cast<std::byte*>(sums);
  for (std::size_t begin = 0; begin < into.size(); begin += row_floats * sizeof(Half)) {
    std::size_t count = std::min(row_floats, (into.size() - begin) / sizeof(Half));
    widen<Half>(into.data() + begin, sums, count);
    if constexpr (std::is_same_v<Half, bf16>) {
      fold_stripe<float, bf16, Op>(to, from, begin, count);
    } else {
      for (auto one : from) {
        widen<Half>(one.data() + begin, others, count);
        fold_one<float, float, Op>(to, reinterpret_cast<const std::byte*>(others), count);
      }
    }
    narrow<Half>(sums, into.data() + begin, count);
  }
}

/// The sum of all halves times `factor`.
template <class Half>
void fold_products(std::span<std::byte> into, sources from, float factor) {
  float sums[row_floats], others[row_floats];
  for (std::size_t begin = 0; begin < into.size(); begin += row_floats * sizeof(Half)) {
    std::size_t count = std::min(row_floats, (into.size() - begin) / sizeof(Half));
    widen<Half>(into.data() + begin, sums, count);
    for (std::size_t i = 0; i < count; ++i) sums[i] *= factor;
    for (auto one : from) {
      widen<Half>(one.data() + begin, others, count);
      for (std::size_t i = 0; i < count; ++i) sums[i] += others[i] * factor;
    }
    narrow<Half>(sums, into.data() + begin, count);
  }
}

[[noreturn]] void no_such(reduction reduce, element_type type) {
  assertion_failed("exists(reduce, type)", __FILE__, __LINE__,
                   describe_values(to_string(reduce), to_string(type)));
}

template <class T>
void fold_float(reduction reduce, std::span<std::byte> into, sources from) {
  switch (reduce) {
    case reduction::prod:
      return fold_as<T, multiply>(into, from);
    case reduction::min:
      return fold_as<T, minimum>(into, from);
    case reduction::max:
      return fold_as<T, maximum>(into, from);
    default:
      return fold_as<T, add>(into, from);
  }
}

template <class Half>
void fold_half(reduction reduce, std::span<std::byte> into, sources from, std::uint32_t parts) {
  if (parts > 1) return fold_products<Half>(into, from, 1.0f / static_cast<float>(parts));
  switch (reduce) {
    case reduction::prod:
      return fold_half<Half, multiply>(into, from);
    case reduction::min:
      return fold_half<Half, minimum>(into, from);
    case reduction::max:
      return fold_half<Half, maximum>(into, from);
    default:
      return fold_half<Half, add>(into, from);
  }
}

template <class T>
void fold_integer(reduction reduce, std::span<std::byte> into, sources from) {
  using word = std::make_unsigned_t<T>;
  switch (reduce) {
    case reduction::prod:
      return fold_as<word, multiply>(into, from);
    case reduction::min:
      return fold_as<T, minimum>(into, from);
    case reduction::max:
      return fold_as<T, maximum>(into, from);
    case reduction::band:
      return fold_as<word, bit_and>(into, from);
    case reduction::bor:
      return fold_as<word, bit_or>(into, from);
    case reduction::bxor:
      return fold_as<word, bit_xor>(into, from);
    default:
      return fold_as<word, add>(into, from);
  }
}

void fold_boolean(reduction reduce, std::span<std::byte> into, sources from) {
  switch (reduce) {
    case reduction::prod:
    case reduction::min:
    case reduction::band:
      return fold_as<std::uint8_t, logical<bit_and>>(into, from);
    case reduction::bxor:
      return fold_as<std::uint8_t, logical<bit_xor>>(into, from);
    default:
      return fold_as<std::uint8_t, logical<bit_or>>(into, from);
  }
}

template <class T>
void fold_complex(reduction reduce, std::span<std::byte> into, sources from) {
  if (reduce == reduction::prod) return fold_as<complex_of<T>, multiply>(into, from);
  fold_as<T, add>(into, from);
}

template <class T>
void divide_floats(std::span<std::byte> into, std::uint32_t members) {
  for (std::size_t i = 0; i < into.size() / sizeof(T); ++i)
    store(into.data(), i, load<T>(into.data(), i) / static_cast<T>(members));
}

template <class T, class Divisor = std::int64_t>
void divide_integers(std::span<std::byte> into, std::uint32_t members) {
  for (std::size_t i = 0; i < into.size() / sizeof(T); ++i)
    store(into.data(), i, static_cast<T>(load<T>(into.data(), i) / Divisor{members}));
}

}  // namespace

void host_fold(element_type type, reduction reduce, std::span<std::byte> into, sources from,
               std::uint32_t parts) {
  if (!exists(reduce, type)) no_such(reduce, type);
  for (auto source : from) TROUPE_ASSERT(source.size() == into.size(), source.size(), into.size());
  TROUPE_ASSERT(into.size() % size_of(type) == 0, into.size(), to_string(type));
  TROUPE_ASSERT(parts == 1 || multiplies_first(reduce, type), parts, to_string(type));
  if (from.empty() && parts == 1) return;
  switch (type) {
    case element_type::f64:
      return fold_float<double>(reduce, into, from);
    case element_type::f32:
      return fold_float<float>(reduce, into, from);
    case element_type::f16:
      return fold_half<f16>(reduce, into, from, parts);
    case element_type::bf16:
      return fold_half<bf16>(reduce, into, from, parts);
    case element_type::i64:
      return fold_integer<std::int64_t>(reduce, into, from);
    case element_type::i32:
      return fold_integer<std::int32_t>(reduce, into, from);
    case element_type::i16:
      return fold_integer<std::int16_t>(reduce, into, from);
    case element_type::i8:
      return fold_integer<std::int8_t>(reduce, into, from);
    case element_type::u8:
      return fold_integer<std::uint8_t>(reduce, into, from);
    case element_type::boolean:
      return fold_boolean(reduce, into, from);
    case element_type::c64:
      return fold_complex<float>(reduce, into, from);
    case element_type::c128:
      return fold_complex<double>(reduce, into, from);
    case element_type::f8e4m3:
      return fold_half<f8e4m3>(reduce, into, from, parts);
    case element_type::f8e5m2:
      return fold_half<f8e5m2>(reduce, into, from, parts);
    case element_type::u32:
      return fold_integer<std::uint32_t>(reduce, into, from);
    case element_type::u64:
      return fold_integer<std::uint64_t>(reduce, into, from);
  }
}

void host_finish(element_type type, reduction reduce, std::span<std::byte> into,
                 std::uint32_t members) {
  if (!exists(reduce, type)) no_such(reduce, type);
  TROUPE_ASSERT(members > 0);
  if (reduce != reduction::avg || members == 1) return;
  switch (type) {
    case element_type::f64:
    case element_type::c128:
      return divide_floats<double>(into, members);
    case element_type::f32:
    case element_type::c64:
      return divide_floats<float>(into, members);
    case element_type::i64:
      return divide_integers<std::int64_t>(into, members);
    case element_type::i32:
      return divide_integers<std::int32_t>(into, members);
    case element_type::i16:
      return divide_integers<std::int16_t>(into, members);
    case element_type::i8:
      return divide_integers<std::int8_t>(into, members);
    case element_type::u8:
      return divide_integers<std::uint8_t>(into, members);
    case element_type::u32:
      return divide_integers<std::uint32_t>(into, members);
    case element_type::u64:
      return divide_integers<std::uint64_t, std::uint64_t>(into, members);
    case element_type::f16:
    case element_type::bf16:
    case element_type::f8e4m3:
    case element_type::f8e5m2:
    case element_type::boolean:
      return;
  }
}

}  // namespace troupe
