// half_rows: loops over half.hpp's and float8.hpp's arithmetic that the compiler vectorises (this
// file is built with -O3); for f16 the processor's own conversions where it has them (F16C), which
// round alike and keep the same values.
#include "gpu/half_rows.hpp"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace troupe {

namespace {

template <class Half>
void widen_each(const std::byte* __restrict from, float* __restrict to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Half x;
    std::memcpy(&x, from + i * sizeof(x), sizeof(x));
    to[i] = to_float(x);
  }
}

template <class Half, Half (*Round)(float)>
void narrow_each(const float* __restrict from, std::byte* __restrict to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Half x = Round(from[i]);
    std::memcpy(to + i * sizeof(x), &x, sizeof(x));
  }
}

#if defined(__x86_64__)

const bool has_f16c = __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c");

/// Both return how many elements they did: all but the last few.
__attribute__((target("avx,f16c"))) std::size_t widen_by_eight(const std::byte* from, float* to,
                                                               std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    auto halves = _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(from + i * sizeof(f16)));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
  }
  return i;
}

__attribute__((target("avx,f16c"))) std::size_t narrow_by_eight(const float* from, std::byte* to,
                                                                std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    auto halves = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i_u*>(to + i * sizeof(f16)), halves);
  }
  return i;
}

#else

constexpr bool has_f16c = false;
std::size_t widen_by_eight(const std::byte*, float*, std::size_t) { return 0; }
std::size_t narrow_by_eight(const float*, std::byte*, std::size_t) { return 0; }

#endif

}  // namespace

template <>
void widen<f16>(const std::byte* from, float* to, std::size_t count) {
  std::size_t done = has_f16c ? widen_by_eight(from, to, count) : 0;
  widen_each<f16>(from + done * sizeof(f16), to + done, count - done);
}

template <>
void widen<bf16>(const std::byte* from, float* to, std::size_t count) {
  widen_each<bf16>(from, to, count);
}

template <>
void narrow<f16>(const float* from, std::byte* to, std::size_t count) {
  std::size_t done = has_f16c ? narrow_by_eight(from, to, count) : 0;
  narrow_each<f16, to_f16>(from + done, to + done * sizeof(f16), count - done);
}

template <>
void narrow<bf16>(const float* from, std::byte* to, std::size_t count) {
  narrow_each<bf16, to_bf16>(from, to, count);
}

template <>
void widen<f8e4m3>(const std::byte* from, float* to, std::size_t count) {
  widen_each<f8e4m3>(from, to, count);
}

template <>
void widen<f8e5m2>(const std::byte* from, float* to, std::size_t count) {
  widen_each<f8e5m2>(from, to, count);
}

template <>
void narrow<f8e4m3>(const float* from, std::byte* to, std::size_t count) {
  narrow_each<f8e4m3, to_f8e4m3>(from, to, count);
}

template <>
void narrow<f8e5m2>(const float* from, std::byte* to, std::size_t count) {
  narrow_each<f8e5m2, to_f8e5m2>(from, to, count);
}

}  // namespace troupe
