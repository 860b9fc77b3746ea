// wire_codec: where frames begin and end in a stream of bytes.
//
// A frame is Cap'n Proto's stream framing: u32 segments - 1, a u32 length in words of each, padded
// to 8 bytes, the segments. Not here: what is in them (wire_to_troupe.cpp, wire_to_rank.cpp,
// control_codec.cpp).
#include "messages/wire_codec.hpp"

#include <bit>
#include <cstring>
#include <string>

namespace troupe {

static_assert(std::endian::native == std::endian::little, "lengths are read as they lie");

namespace {

/// Our encoder makes few segments; Cap'n Proto's own readers believe no more than this.
constexpr std::uint32_t segments_max = 512;

std::uint32_t word_at(std::span<const std::uint8_t> bytes, std::size_t index) {
  std::uint32_t word;
  std::memcpy(&word, bytes.data() + index * sizeof(word), sizeof(word));
  return word;
}

}  // namespace

result<std::optional<std::uint64_t>> frame_length(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < sizeof(std::uint32_t)) return std::optional<std::uint64_t>{};
  std::uint32_t more_segments = word_at(bytes, 0);
  if (more_segments >= segments_max)
    return error{errc::bad_input, "a frame claims "
                                      + std::to_string(more_segments + std::uint64_t{1})
                                      + " segments; " + std::to_string(segments_max) + " at most"};
  std::uint64_t table_words = more_segments + 2 + more_segments % 2;
  if (bytes.size() < (more_segments + 2) * sizeof(std::uint32_t))
    return std::optional<std::uint64_t>{};
  std::uint64_t length = table_words * sizeof(std::uint32_t);
  for (std::uint32_t segment = 0; segment <= more_segments; ++segment)
    length += std::uint64_t{word_at(bytes, segment + 1)} * 8;
  if (length > frame_bytes_max)
    return error{errc::bad_input, "a frame claims " + std::to_string(length) + " bytes; "
                                      + std::to_string(frame_bytes_max) + " at most"};
  return std::optional<std::uint64_t>{length};
}

void frame_splitter::feed(std::span<const std::uint8_t> bytes) {
  // What was cut off goes first; a buffer that one large frame blew up is given back.
  constexpr std::size_t kept_capacity_max = 1u << 20;
  if (begin_ == buffer_.size()) {
    buffer_.clear();
    begin_ = 0;
    if (buffer_.capacity() > kept_capacity_max) buffer_ = {};
  } else if (begin_ > buffer_.size() / 2) {
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(begin_));
    begin_ = 0;
  }
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

result<std::optional<std::span<const std::uint8_t>>> frame_splitter::next() {
  using frame = std::optional<std::span<const std::uint8_t>>;
  auto rest = std::span<const std::uint8_t>(buffer_).subspan(begin_);
  TROUPE_TRY(length, frame_length(rest));
  if (!length || *length > rest.size()) return frame{};
  begin_ += *length;
  return frame{rest.first(*length)};
}

}  // namespace troupe
