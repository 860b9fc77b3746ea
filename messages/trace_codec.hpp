// trace_codec: the records of a PrismTrace file (trace.capnp) to bytes and back.
//
// Decoding bounds the number of everything it believes; a record it cannot believe is
// errc::bad_input with what was wrong. Not here: what the columns hold (graph/node_columns.hpp),
// frames, checksums and files (graph/prism_trace_format.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "messages/error.hpp"

namespace troupe {

constexpr std::uint32_t trace_version = 1;

struct trace_header {
  std::uint32_t version = trace_version;
  std::uint32_t world{};
  std::uint8_t stage{};
  std::vector<std::pair<std::string, std::string>> metadata;
};

enum class trace_chunk_kind : std::uint8_t {
  nodes,
  slots,
  communicators,
  call_sites,
  index,
  ranks
};
constexpr int trace_chunk_kind_count = 6;
const char* to_string(trace_chunk_kind kind);

enum class column_codec : std::uint8_t { plain, zstd };

/// `data` is not owned: it points into the bytes decoded, or at what is to be encoded.
struct trace_column {
  column_codec codec{};
  std::uint32_t raw_size{};
  std::span<const std::uint8_t> data;
};

struct trace_chunk {
  trace_chunk_kind kind{};
  std::uint32_t rank{}, first{}, count{};
  std::vector<trace_column> columns;
};

using trace_record = std::variant<trace_header, trace_chunk>;

/// A record is never longer, a column never unpacks to more, a chunk has no more columns, a header
/// no more pairs.
constexpr std::uint32_t trace_record_bytes_max = 64u << 20;
constexpr std::uint32_t trace_column_bytes_max = 32u << 20;
constexpr std::uint32_t trace_columns_max = 64;
constexpr std::uint32_t trace_metadata_max = 1024;

/// A whole number of 8-byte words.
std::vector<std::uint8_t> encode(const trace_record& record);

/// `bytes` is exactly one record, 8-byte aligned; it must outlive the result.
result<trace_record> decode_trace_record(std::span<const std::uint8_t> bytes);

}  // namespace troupe
