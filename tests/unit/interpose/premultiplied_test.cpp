// premultiplied: each type's products, rounded once.
#include "interpose/nccl/premultiplied.hpp"

#include <catch2/catch.hpp>

#include <cstring>
#include <limits>
#include <vector>

#include "gpu/float8.hpp"

namespace troupe {
namespace {

template <class T>
std::vector<T> times(element_type type, std::vector<T> values, T factor) {
  const auto bytes = std::as_writable_bytes(std::span(values));
  multiply(type, bytes, bytes, &factor);
  return values;
}

TEST_CASE("floats are multiplied in their own precision") {
  CHECK(times<double>(element_type::f64, {1, 0.1, -3}, 3) == std::vector<double>{3, 0.1 * 3, -9});
  CHECK(times<float>(element_type::f32, {0.1f}, 0.7f) == std::vector<float>{0.1f * 0.7f});
}

TEST_CASE("narrow floats are multiplied in f32 and rounded once") {
  const auto third = to_f16(1.0f / 3);
  for (const std::size_t count : {1u, 5000u}) {
    const std::vector<std::uint16_t> values(count, third.bits);
    const auto wanted = to_f16(to_float(third) * to_float(third)).bits;
    CHECK(times(element_type::f16, values, third.bits)
          == std::vector<std::uint16_t>(count, wanted));
  }
  CHECK(times<std::uint16_t>(element_type::bf16, {0x3f80}, 0x4000)[0] == 0x4000);
  CHECK(times<std::uint8_t>(element_type::f8e4m3, {0x38}, 0x40)[0] == 0x40);
  CHECK(times<std::uint8_t>(element_type::f8e4m3, {0x7e}, 0x40)[0] == 0x7e);  // saturates
  CHECK(times<std::uint8_t>(element_type::f8e5m2, {0x3c}, 0x40)[0] == 0x40);
}

TEST_CASE("integers wrap") {
  CHECK(times<std::int8_t>(element_type::i8, {100, -1}, 3) == std::vector<std::int8_t>{44, -3});
  CHECK(times<std::uint8_t>(element_type::u8, {200}, 2)[0] == 144);
  CHECK(times<std::int32_t>(element_type::i32, {std::numeric_limits<int>::max()}, 2)[0] == -2);
  CHECK(times<std::uint32_t>(element_type::u32, {0x80000001u}, 2)[0] == 2);
  CHECK(times<std::int64_t>(element_type::i64, {-5}, 1ll << 40)[0] == -5 * (1ll << 40));
  CHECK(times<std::uint64_t>(element_type::u64, {1ull << 63}, 3)[0] == 1ull << 63);
}

}  // namespace
}  // namespace troupe
