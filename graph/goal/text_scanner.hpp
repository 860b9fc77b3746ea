// text_scanner: the characters of a GOAL text, block by block: blanks, comments, words, numbers,
// and where they stand.
//
// A newline is no blank: it ends a statement. A token lies in one piece in the block, which holds
// at least token_bytes_max characters of it: a longer one is refused by whoever reads it. What was
// read before is forgotten: no view of a word survives the next call. Not here: the grammar
// (text_reader.cpp).
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "graph/input_file.hpp"
#include "messages/error.hpp"

namespace troupe::goal {

struct text_position {
  std::uint64_t line{}, column{};  ///< from 1; columns count bytes
};

class text_scanner {
 public:
  static constexpr std::size_t token_bytes_max = 1024;
  enum class number { none, fits, overflows };

  explicit text_scanner(const input_file& from);

  /// Past blanks and comments; a comment may hold newlines.
  void skip_blanks() {
    while (*at_ == ' ') ++at_;
    if (is_blank_or_end(*at_)) skip_slowly();
    if (end_ - at_ < static_cast<std::ptrdiff_t>(token_bytes_max) && !is_last_block_) refill();
  }
  /// Past newlines too.
  void skip_lines() {
    for (skip_blanks(); *at_ == '\n'; skip_blanks()) newline();
  }
  /// Past this line's end, comments unseen.
  void skip_rest_of_line();

  char peek() const { return *at_; }
  bool at_end() const { return at_ == end_; }
  bool take(char expected) {
    if (*at_ != expected) return false;
    ++at_;
    return true;
  }
  /// [A-Za-z][A-Za-z0-9_]*, or empty.
  std::string_view take_word() {
    const char* const begin = at_;
    if (!is_letter(*at_)) return {};
    while (is_word(*at_)) ++at_;
    return {begin, static_cast<std::size_t>(at_ - begin)};
  }
  /// Makes a word unread that was taken last.
  void put_back(std::string_view word) { at_ -= word.size(); }
  /// The first eight characters of what take_word returned, the rest of them 0.
  static std::uint64_t packed(std::string_view word) {
    std::uint64_t bits;
    std::memcpy(&bits, word.data(), 8);  // the block has room behind its end
    return word.size() >= 8 ? bits : bits & ((std::uint64_t{1} << (8 * word.size())) - 1);
  }
  number take_number(std::uint64_t& value) {
    const char* const begin = at_;
    std::uint64_t sum = 0;
    while (is_digit(*at_)) sum = sum * 10 + static_cast<std::uint64_t>(*at_++ - '0');
    value = sum;
    if (at_ - begin < 20) return at_ == begin ? number::none : number::fits;
    return fits_long(begin, value);
  }

  text_position position() const {
    return {line_, static_cast<std::uint64_t>(at_ - block_.data() - line_begin_ + 1)};
  }
  /// What stands here, for a message: a word, a number, a character, an end.
  std::string found() const;
  /// Why the file could not be read to its end, if it could not.
  const result<void>& status() const { return status_; }

  static bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }
  static bool is_letter(char c) { return static_cast<unsigned char>((c | 0x20) - 'a') < 26; }
  static bool is_word(char c) { return word_characters_[static_cast<unsigned char>(c)]; }

 private:
  static bool is_blank_or_end(char c) {
    return c == '\t' || c == '\r' || c == '\f' || c == '\v' || c == '/' || c == '\0';
  }
  static const std::array<bool, 256> word_characters_;

  void newline() {
    ++at_;
    ++line_;
    line_begin_ = at_ - block_.data();
  }
  void skip_slowly();
  bool skip_comment();
  number fits_long(const char* begin, std::uint64_t& value) const;
  /// More behind what is left; false at the end of the file.
  bool refill();

  const input_file& from_;
  std::vector<char> block_;
  const char *at_, *end_;  // *end_ is 0
  std::uint64_t read_ = 0, line_ = 1;
  std::ptrdiff_t line_begin_ = 0;  // in the block; negative once it has left it
  bool is_last_block_ = false;
  result<void> status_;
};

}  // namespace troupe::goal
