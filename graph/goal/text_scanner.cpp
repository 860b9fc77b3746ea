#include "graph/goal/text_scanner.hpp"

#include <algorithm>

namespace troupe::goal {
namespace {

constexpr std::size_t block_bytes = 256u << 10, room_behind = 8;

constexpr std::array<bool, 256> word_characters() {
  std::array<bool, 256> is{};
  for (int c = 'a'; c <= 'z'; ++c) is[static_cast<unsigned>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) is[static_cast<unsigned>(c)] = true;
  for (int c = '0'; c <= '9'; ++c) is[static_cast<unsigned>(c)] = true;
  is['_'] = true;
  return is;
}

}  // namespace

const std::array<bool, 256> text_scanner::word_characters_ = word_characters();

text_scanner::text_scanner(const input_file& from)
    : from_(from), block_(block_bytes + room_behind), at_(block_.data()), end_(block_.data()) {
  refill();
}

bool text_scanner::refill() {
  if (is_last_block_) return false;
  const auto left = end_ - at_;
  const auto gone = at_ - block_.data();
  std::memmove(block_.data(), at_, static_cast<std::size_t>(left));
  line_begin_ -= gone;
  at_ = block_.data();
  const auto fresh =
      std::min<std::uint64_t>(from_.size() - read_, block_bytes - static_cast<std::size_t>(left));
  if (status_)
    status_ = from_.read(read_, {reinterpret_cast<std::uint8_t*>(block_.data() + left),
                                 static_cast<std::size_t>(fresh)});
  const auto got = status_ ? static_cast<std::ptrdiff_t>(fresh) : 0;
  read_ += static_cast<std::uint64_t>(got);
  end_ = block_.data() + left + got;
  std::memset(block_.data() + left + got, 0, room_behind);
  is_last_block_ = !status_ || read_ == from_.size();
  return got > 0;
}

void text_scanner::skip_slowly() {
  for (;;) {
    while (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\f' || *at_ == '\v') ++at_;
    if (at_ == end_) {
      if (!refill()) return;
      continue;
    }
    if (*at_ != '/') return;
    if (end_ - at_ < 2) refill();
    if (!skip_comment()) return;
  }
}

/// False where none starts, or where one does not end (it then stays to be seen).
bool text_scanner::skip_comment() {
  if (at_[1] == '/') {
    for (;;) {
      const auto* const end =
          static_cast<const char*>(std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_)));
      at_ = end ? end : end_;
      if (end || !refill()) return true;
    }
  }
  if (at_[1] != '*') return false;
  for (at_ += 2;; ++at_) {
    if (end_ - at_ < 2 && !is_last_block_) refill();
    if (at_ == end_) return false;
    if (at_[0] == '*' && at_[1] == '/') break;
    if (*at_ == '\n') {
      newline();
      --at_;
    }
  }
  at_ += 2;
  return true;
}

void text_scanner::skip_rest_of_line() {
  for (;;) {
    const auto* const end =
        static_cast<const char*>(std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_)));
    at_ = end ? end : end_;
    if (end || !refill()) return;
  }
}

text_scanner::number text_scanner::fits_long(const char* begin, std::uint64_t& value) const {
  std::uint64_t sum = 0;
  for (; begin != at_; ++begin)
    if (__builtin_mul_overflow(sum, std::uint64_t{10}, &sum)
        || __builtin_add_overflow(sum, static_cast<std::uint64_t>(*begin - '0'), &sum))
      return number::overflows;
  value = sum;
  return number::fits;
}

std::string text_scanner::found() const {
  constexpr std::ptrdiff_t shown = 32;
  if (at_ == end_) return "the end of the file";
  if (*at_ == '\n') return "the end of the line";
  const char* end = at_;
  if (*end == '-') ++end;
  while (is_word(*end) && end - at_ < shown) ++end;
  if (end > at_) return "'" + std::string(at_, end) + (is_word(*end) ? "…'" : "'");
  const auto byte = static_cast<unsigned char>(*at_);
  if (byte > 0x20 && byte < 0x7f) return "'" + std::string(1, *at_) + "'";
  constexpr char digits[] = "0123456789abcdef";
  return std::string("the byte 0x") + digits[byte >> 4] + digits[byte & 15];
}

}  // namespace troupe::goal
