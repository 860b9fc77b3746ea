// wire_codec: the frames of the wire and of the launcher to bytes and back: Cap'n Proto's stream
// framing, one message a frame.
//
// Decoding bounds everything it believes; a frame it cannot believe is errc::bad_input with what
// was wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "messages/error.hpp"
#include "messages/wire.hpp"

namespace troupe {

/// A frame longer than frame_bytes_max, or a list or key beyond wire.hpp's limits, is the caller's
/// bug (an assertion).
std::vector<std::uint8_t> encode(const to_troupe::frame& frame);
std::vector<std::uint8_t> encode(const to_rank::frame& frame);
std::vector<std::uint8_t> encode(const from_launcher::frame& frame);
std::vector<std::uint8_t> encode(const to_launcher::frame& frame);

/// Length in bytes of the frame that starts here; nullopt: more bytes are needed to tell. Beyond
/// frame_bytes_max: an error.
result<std::optional<std::uint64_t>> frame_length(std::span<const std::uint8_t> bytes);

/// `bytes` is exactly one frame, 8-byte aligned or not.
result<to_troupe::frame> decode_to_troupe(std::span<const std::uint8_t> bytes);
result<to_rank::frame> decode_to_rank(std::span<const std::uint8_t> bytes);
result<from_launcher::frame> decode_from_launcher(std::span<const std::uint8_t> bytes);
result<to_launcher::frame> decode_to_launcher(std::span<const std::uint8_t> bytes);

/// Cuts a byte stream into frames.
class frame_splitter {
 public:
  /// Bytes as they came from a stream.
  void feed(std::span<const std::uint8_t> bytes);
  /// The next whole frame (valid until the next call of either), nullopt when there is none yet.
  result<std::optional<std::span<const std::uint8_t>>> next();

 private:
  std::vector<std::uint8_t> buffer_;
  std::size_t begin_ = 0;
};

}  // namespace troupe
