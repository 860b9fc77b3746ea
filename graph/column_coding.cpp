#include "graph/column_coding.hpp"

#include <zstd.h>

#include "messages/assert.hpp"

namespace troupe {

std::uint64_t varint_source::get_long() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && at_ != end_; shift += 7) {
    const std::uint8_t byte = *at_++;
    if (shift == 63 && byte > 1) return fail();
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return fail();
}

std::string varint_source::get_text(std::size_t most) {
  const auto length = get_up_to(most);
  if (length > left()) fail();
  if (failed_) return {};
  std::string text(reinterpret_cast<const char*>(at_), length);
  at_ += length;
  return text;
}

struct column_packer::context {
  ZSTD_CCtx* zstd = ZSTD_createCCtx();
  int level{};
  ~context() { ZSTD_freeCCtx(zstd); }
};

column_packer::column_packer(int zstd_level) : context_(std::make_unique<context>()) {
  TROUPE_ASSERT(context_->zstd != nullptr);
  context_->level = zstd_level;
}

column_packer::~column_packer() = default;

void column_packer::add(trace_chunk& chunk, std::vector<std::uint8_t> raw) {
  TROUPE_ASSERT(raw.size() <= trace_column_bytes_max, raw.size());
  trace_column column;
  column.raw_size = static_cast<std::uint32_t>(raw.size());
  std::vector<std::uint8_t> packed(ZSTD_compressBound(raw.size()));
  const auto size = ZSTD_compressCCtx(context_->zstd, packed.data(), packed.size(), raw.data(),
                                      raw.size(), context_->level);
  TROUPE_ASSERT(!ZSTD_isError(size), ZSTD_getErrorName(size));
  if (size < raw.size()) {
    packed.resize(size);
    raw = std::move(packed);
    column.codec = column_codec::zstd;
  }
  held_.push_back(std::move(raw));
  column.data = held_.back();
  chunk.columns.push_back(column);
}

struct column_unpacker::context {
  ZSTD_DCtx* zstd = ZSTD_createDCtx();
  ~context() { ZSTD_freeDCtx(zstd); }
};

column_unpacker::column_unpacker() : context_(std::make_unique<context>()) {
  TROUPE_ASSERT(context_->zstd != nullptr);
}

column_unpacker::~column_unpacker() = default;

result<std::span<const std::uint8_t>> column_unpacker::unpack(const trace_column& column,
                                                              std::size_t buffer) {
  if (column.codec == column_codec::plain) {
    if (column.data.size() != column.raw_size)
      return error{errc::bad_input, "a column of " + std::to_string(column.data.size())
                                        + " bytes, expected " + std::to_string(column.raw_size)};
    return column.data;
  }
  TROUPE_ASSERT(column.raw_size <= trace_column_bytes_max, column.raw_size);
  if (ZSTD_getFrameContentSize(column.data.data(), column.data.size()) != column.raw_size)
    return error{errc::bad_input,
                 "a column that does not unpack to " + std::to_string(column.raw_size) + " bytes"};
  if (buffers_.size() <= buffer) buffers_.resize(buffer + 1);
  auto& raw = buffers_[buffer];
  if (raw.size() < column.raw_size) raw.resize(column.raw_size);
  const auto size = ZSTD_decompressDCtx(context_->zstd, raw.data(), column.raw_size,
                                        column.data.data(), column.data.size());
  if (ZSTD_isError(size))
    return error{errc::bad_input,
                 std::string("a column that zstd cannot unpack: ") + ZSTD_getErrorName(size)};
  if (size != column.raw_size)
    return error{errc::bad_input, "a column that unpacks to " + std::to_string(size)
                                      + " bytes, expected " + std::to_string(column.raw_size)};
  return std::span<const std::uint8_t>(raw.data(), size);
}

}  // namespace troupe
