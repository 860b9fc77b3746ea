#include "graph/column_coding.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <random>

using namespace troupe;

TEST_CASE("varints come back, at every length and of either sign") {
  varint_sink to;
  std::vector<std::uint64_t> values;
  for (int bit = 0; bit < 64; ++bit)
    for (std::uint64_t around : {-1, 0, 1}) values.push_back((std::uint64_t{1} << bit) + around);
  for (auto value : values) {
    to.put(value);
    to.put_signed(static_cast<std::int64_t>(value));
  }
  varint_source from(to.bytes());
  for (auto value : values) {
    CHECK(from.get() == value);
    CHECK(from.get_signed() == static_cast<std::int64_t>(value));
  }
  CHECK(from.complete());
}

TEST_CASE("a varint that ends early or overflows fails, and stays failed") {
  for (std::vector<std::uint8_t> bytes :
       {std::vector<std::uint8_t>{},
        {0x80},
        {0xff, 0xff},
        std::vector<std::uint8_t>(11, 0x80),
        {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}}) {
    varint_source from(bytes);
    CHECK(from.get() == 0);
    CHECK(from.failed());
    CHECK(from.get() == 0);
    CHECK_FALSE(from.complete());
  }
}

TEST_CASE("a text longer than what is left fails before it is read") {
  varint_sink to;
  to.put(1000);
  varint_source from(to.bytes());
  CHECK(from.get_text(65536).empty());
  CHECK(from.failed());
}

TEST_CASE("columns come back, compressible or not") {
  std::mt19937 chance(1);
  std::vector<std::uint8_t> noise(10'000), zeros(100'000), none;
  for (auto& byte : noise) byte = static_cast<std::uint8_t>(chance());
  column_packer packer(1);
  trace_chunk chunk;
  for (const auto& raw : {noise, zeros, none}) packer.add(chunk, raw);
  CHECK(chunk.columns[0].codec == column_codec::plain);
  CHECK(chunk.columns[1].codec == column_codec::zstd);
  column_unpacker unpacker;
  std::size_t at = 0;
  for (const auto& raw : {noise, zeros, none}) {
    auto back = unpacker.unpack(chunk.columns[at], at);
    REQUIRE(back);
    CHECK(std::equal(back->begin(), back->end(), raw.begin(), raw.end()));
    ++at;
  }
}

TEST_CASE("a column that unpacks to another size is not believed") {
  column_packer packer(1);
  trace_chunk chunk;
  packer.add(chunk, std::vector<std::uint8_t>(1000, 3));
  column_unpacker unpacker;
  for (std::uint32_t size : {0u, 1u, 999u, 1001u, trace_column_bytes_max}) {
    auto column = chunk.columns[0];
    column.raw_size = size;
    auto back = unpacker.unpack(column, 0);
    REQUIRE_FALSE(back);
    CHECK(back.error().code == errc::bad_input);
  }
}
