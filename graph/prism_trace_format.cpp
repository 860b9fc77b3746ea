#include "graph/prism_trace_format.hpp"

#include <zlib.h>

namespace troupe::prism_trace_format {
namespace {

void put_u32(std::uint8_t* to, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) to[i] = static_cast<std::uint8_t>(value >> (8 * i));
}

std::uint32_t get_u32(const std::uint8_t* from) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= std::uint32_t{from[i]} << (8 * i);
  return value;
}

void put_u64(std::uint8_t* to, std::uint64_t value) {
  put_u32(to, static_cast<std::uint32_t>(value));
  put_u32(to + 4, static_cast<std::uint32_t>(value >> 32));
}

std::uint64_t get_u64(const std::uint8_t* from) {
  return get_u32(from) | std::uint64_t{get_u32(from + 4)} << 32;
}

std::uint32_t crc_of(std::span<const std::uint8_t> bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(::crc32_z(0, nullptr, 0), bytes.data(), bytes.size()));
}

std::vector<std::uint8_t> framed(std::uint32_t magic, std::span<const std::uint8_t> body) {
  std::vector<std::uint8_t> bytes(frame_bytes);
  bytes.reserve(frame_bytes + body.size());
  put_u32(&bytes[0], magic);
  put_u32(&bytes[4], static_cast<std::uint32_t>(body.size()));
  put_u32(&bytes[8], crc_of(body));
  put_u32(&bytes[12], crc_of({bytes.data(), 12}));
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

}  // namespace

std::vector<std::uint8_t> framed_record(std::span<const std::uint8_t> body) {
  return framed(record_magic, body);
}

std::vector<std::uint8_t> framed_footer(const footer& what) {
  std::array<std::uint8_t, footer_body_bytes> body;
  put_u64(&body[0], what.index_offset);
  put_u64(&body[8], what.chunks);
  return framed(footer_magic, body);
}

std::optional<frame> parse_frame(std::span<const std::uint8_t, frame_bytes> bytes) {
  const auto magic = get_u32(&bytes[0]);
  if ((magic != record_magic && magic != footer_magic)
      || get_u32(&bytes[12]) != crc_of(bytes.first<12>()))
    return std::nullopt;
  const frame parsed{magic == footer_magic, get_u32(&bytes[4]), get_u32(&bytes[8])};
  const bool length_fits = parsed.is_footer ? parsed.body_bytes == footer_body_bytes
                                            : parsed.body_bytes > 0 && parsed.body_bytes % 8 == 0
                                                  && parsed.body_bytes <= trace_record_bytes_max;
  return length_fits ? std::optional(parsed) : std::nullopt;
}

bool body_matches(const frame& what, std::span<const std::uint8_t> body) {
  return body.size() == what.body_bytes && crc_of(body) == what.body_crc;
}

std::optional<footer> parse_footer(std::span<const std::uint8_t, footer_bytes> bytes) {
  const auto head = parse_frame(bytes.first<frame_bytes>());
  const auto body = bytes.last<footer_body_bytes>();
  if (!head || !head->is_footer || !body_matches(*head, body)) return std::nullopt;
  return footer{get_u64(&body[0]), get_u64(&body[8])};
}

}  // namespace troupe::prism_trace_format
