#include "interpose/nccl/premultiplied.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "gpu/half_rows.hpp"
#include "messages/assert.hpp"

namespace troupe {
namespace {

template <class T>
void multiply_as(std::span<std::byte> to, std::span<const std::byte> from, const void* scalar) {
  T factor;
  std::memcpy(&factor, scalar, sizeof factor);
  for (std::size_t at = 0; at < from.size(); at += sizeof(T)) {
    T x;
    std::memcpy(&x, from.data() + at, sizeof x);
    if constexpr (std::is_integral_v<T>)
      x = static_cast<T>(1u * static_cast<std::make_unsigned_t<T>>(x)
                         * static_cast<std::make_unsigned_t<T>>(factor));
    else
      x *= factor;
    std::memcpy(to.data() + at, &x, sizeof x);
  }
}

template <class Half>
void multiply_half(std::span<std::byte> to, std::span<const std::byte> from, const void* scalar) {
  constexpr std::size_t row = 2048;
  float factor, wide[row];
  widen<Half>(static_cast<const std::byte*>(scalar), &factor, 1);
  for (std::size_t at = 0; at < from.size(); at += row * sizeof(Half)) {
    const auto count = std::min(row, (from.size() - at) / sizeof(Half));
    widen<Half>(from.data() + at, wide, count);
    for (std::size_t i = 0; i < count; ++i) wide[i] *= factor;
    narrow<Half>(wide, to.data() + at, count);
  }
}

}  // namespace

void multiply(element_type type, std::span<std::byte> to, std::span<const std::byte> from,
              const void* scalar) {
  TROUPE_ASSERT(to.size() == from.size(), to.size(), from.size());
  switch (type) {
    case element_type::f64:
      return multiply_as<double>(to, from, scalar);
    case element_type::f32:
      return multiply_as<float>(to, from, scalar);
    case element_type::f16:
      return multiply_half<f16>(to, from, scalar);
    case element_type::bf16:
      return multiply_half<bf16>(to, from, scalar);
    case element_type::f8e4m3:
      return multiply_half<f8e4m3>(to, from, scalar);
    case element_type::f8e5m2:
      return multiply_half<f8e5m2>(to, from, scalar);
    case element_type::i64:
      return multiply_as<std::int64_t>(to, from, scalar);
    case element_type::u64:
      return multiply_as<std::uint64_t>(to, from, scalar);
    case element_type::i32:
      return multiply_as<std::int32_t>(to, from, scalar);
    case element_type::u32:
      return multiply_as<std::uint32_t>(to, from, scalar);
    case element_type::i8:
      return multiply_as<std::int8_t>(to, from, scalar);
    case element_type::u8:
      return multiply_as<std::uint8_t>(to, from, scalar);
    default:
      TROUPE_ASSERT(false, to_string(type));
  }
}

}  // namespace troupe
