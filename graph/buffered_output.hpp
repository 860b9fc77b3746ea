// buffered_output: many small writes to an output_file as few large ones. After a failure it stays
// failed and drops the rest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "graph/output_file.hpp"
#include "messages/error.hpp"

namespace troupe {

class buffered_output {
 public:
  explicit buffered_output(output_file file) : file_(std::move(file)) {}

  void put(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= flush_bytes) flush();
  }
  /// All that was put, once closed without a failure.
  std::uint64_t written_bytes() const { return file_.written_bytes(); }
  bool failed() const { return !done_; }
  /// The first failure, if there was one.
  const result<void>& status() const { return done_; }
  /// Writes the rest and closes.
  result<void> close() {
    flush();
    auto closed = file_.close();
    return done_ ? closed : done_;
  }

 private:
  static constexpr std::size_t flush_bytes = 1u << 20;
  void flush() {
    if (done_) done_ = file_.write(buffer_);
    buffer_.clear();
  }

  output_file file_;
  std::string buffer_;
  result<void> done_;
};

}  // namespace troupe
