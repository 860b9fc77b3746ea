// protobuf_sink: builds one protocol buffers message (the wire format's varints, fixed64s and
// lengths).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

class protobuf_sink {
 public:
  void integer(std::uint32_t field, std::uint64_t value) {
    varint(field << 3);
    varint(value);
  }
  void fixed64(std::uint32_t field, std::uint64_t value) {
    varint(field << 3 | 1);
    for (int i = 0; i < 8; ++i) bytes_.push_back(static_cast<char>(value >> (8 * i)));
  }
  /// A string, bytes, or a message built before.
  void text(std::uint32_t field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes_ += value;
  }
  void message(std::uint32_t field, const protobuf_sink& value) { text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }
  std::string bytes_;
};

}  // namespace troupe
