// column_coding: how bytes lie in the columns of a trace chunk: varints, and zstd over them.
//
// Reading believes nothing: a source that runs out or overflows stays failed, an unpacked column
// has exactly its size. Not here: which columns there are (node_columns.hpp,
// prism_trace_format.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "messages/error.hpp"
#include "messages/trace_codec.hpp"

namespace troupe {

/// LEB128: seven bits a byte, the lowest first.
class varint_sink {
 public:
  void put(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<std::uint8_t>(value | 0x80));
    bytes_.push_back(static_cast<std::uint8_t>(value));
  }
  /// Zigzag: small magnitudes of either sign are short.
  void put_signed(std::int64_t value) {
    put(static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
  }
  void put_text(const std::string& text) {
    put(text.size());
    bytes_.insert(bytes_.end(), text.begin(), text.end());
  }
  std::span<const std::uint8_t> bytes() const { return bytes_; }
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

class varint_source {
 public:
  explicit varint_source(std::span<const std::uint8_t> bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  /// 0 once failed.
  std::uint64_t get() {
    if (at_ != end_ && *at_ < 0x80) [[likely]]
      return *at_++;
    return get_long();
  }
  std::int64_t get_signed() {
    const auto value = get();
    return static_cast<std::int64_t>(value >> 1 ^ (0 - (value & 1)));
  }
  /// A value above `most` fails.
  std::uint64_t get_up_to(std::uint64_t most) {
    const auto value = get();
    return value <= most ? value : fail();
  }
  std::string get_text(std::size_t most);
  std::uint64_t fail() {
    failed_ = true;
    at_ = end_;
    return 0;
  }
  bool failed() const { return failed_; }
  /// All read, and nothing failed.
  bool complete() const { return !failed_ && at_ == end_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

 private:
  std::uint64_t get_long();
  const std::uint8_t* at_;
  const std::uint8_t* end_;
  bool failed_ = false;
};

/// Compresses columns with one context.
class column_packer {
 public:
  explicit column_packer(int zstd_level);
  ~column_packer();
  column_packer(const column_packer&) = delete;
  column_packer& operator=(const column_packer&) = delete;

  /// Adds the column to the chunk; the chunk's columns point into `raw` or into this packer until
  /// clear().
  void add(trace_chunk& chunk, std::vector<std::uint8_t> raw);
  void clear() { held_.clear(); }

 private:
  struct context;
  std::unique_ptr<context> context_;
  std::vector<std::vector<std::uint8_t>> held_;
};

/// Unpacks columns, one context and the buffers for all.
class column_unpacker {
 public:
  column_unpacker();
  ~column_unpacker();
  column_unpacker(const column_unpacker&) = delete;
  column_unpacker& operator=(const column_unpacker&) = delete;

  /// The column's raw bytes: valid while the column's own are and until `buffer` is used again.
  result<std::span<const std::uint8_t>> unpack(const trace_column& column, std::size_t buffer);

 private:
  struct context;
  std::unique_ptr<context> context_;
  std::vector<std::vector<std::uint8_t>> buffers_;
};

}  // namespace troupe
