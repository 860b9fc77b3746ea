// half_rows: rows of f16, bf16 and eight-bit floats to f32 and back, by the rules of half.hpp and
// float8.hpp, as fast as the processor can.
#pragma once

#include <cstddef>

#include "gpu/float8.hpp"
#include "gpu/half.hpp"

namespace troupe {

/// `count` elements from `from` (at any address) as floats. The two do not overlap.
template <class Half>
void widen(const std::byte* from, float* to, std::size_t count);

/// And back, each rounded to nearest even.
template <class Half>
void narrow(const float* from, std::byte* to, std::size_t count);

template <>
void widen<f16>(const std::byte* from, float* to, std::size_t count);
template <>
void widen<bf16>(const std::byte* from, float* to, std::size_t count);
template <>
void widen<f8e4m3>(const std::byte* from, float* to, std::size_t count);
template <>
void widen<f8e5m2>(const std::byte* from, float* to, std::size_t count);
template <>
void narrow<f8e4m3>(const float* from, std::byte* to, std::size_t count);
template <>
void narrow<f8e5m2>(const float* from, std::byte* to, std::size_t count);
template <>
void narrow<f16>(const float* from, std::byte* to, std::size_t count);
template <>
void narrow<bf16>(const float* from, std::byte* to, std::size_t count);

}  // namespace troupe
