// prism_trace_format: how a PrismTrace file is laid out: the magic, frames with checksums, records,
// the footer.
//
//   magic (16 bytes) | frame header record | frame chunk record … | frame index record … | frame
//   footer
//
// A frame is 16 bytes: its own magic, the body's length, the body's CRC-32, the CRC-32 of the
// twelve bytes before. Every byte of a file is under a checksum. Not here: what chunks hold
// (node_columns.hpp, trace_tables.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "messages/trace_codec.hpp"

namespace troupe::prism_trace_format {

constexpr std::array<std::uint8_t, 16> file_magic = {'P', 'r', 'i',  's',  'm',  'T',  'r', 'a',
                                                     'c', 'e', '\r', '\n', 0x1a, '\n', 0,   0};
constexpr std::uint32_t record_magic = 0x31725450;  // "PTr1"
constexpr std::uint32_t footer_magic = 0x31665450;  // "PTf1"
constexpr std::size_t frame_bytes = 16;
constexpr std::size_t footer_body_bytes = 16;
constexpr std::size_t footer_bytes = frame_bytes + footer_body_bytes;

constexpr std::uint32_t world_max = 1u << 20;
constexpr std::uint32_t table_chunk_entries_max =
    65536;  ///< of slot intervals, communicators, call sites, index

struct frame {
  bool is_footer{};
  std::uint32_t body_bytes{};
  std::uint32_t body_crc{};
};

struct footer {
  std::uint64_t index_offset{};  ///< of the first index record's frame
  std::uint64_t chunks{};        ///< that the index names
};

/// A frame and its body.
std::vector<std::uint8_t> framed_record(std::span<const std::uint8_t> body);
std::vector<std::uint8_t> framed_footer(const footer& what);

/// nullopt: these bytes are no frame (magic, checksum, a length no record has).
std::optional<frame> parse_frame(std::span<const std::uint8_t, frame_bytes> bytes);
bool body_matches(const frame& what, std::span<const std::uint8_t> body);
/// `bytes`: frame and body. nullopt: no footer.
std::optional<footer> parse_footer(std::span<const std::uint8_t, footer_bytes> bytes);

}  // namespace troupe::prism_trace_format
