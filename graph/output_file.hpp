// output_file: a file written from front to back, whose every failure names it.
//
// Not here: buffering; what a failure leaves (a front part of what was written).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "messages/error.hpp"

namespace troupe {

class output_file {
 public:
  /// Creates or truncates. errc::bad_input: the path, or another process (or object) is writing it;
  /// errc::no_resources: disk, descriptors.
  static result<output_file> create(const std::string& path);
  output_file(output_file&& other) noexcept;
  output_file& operator=(output_file&&) = delete;
  ~output_file();

  /// All of it, or errc::no_resources (disk full, quota, size limit, input/output error).
  result<void> write(std::span<const std::uint8_t> bytes);
  result<void> write(const std::string& text);
  /// The last chance to hear of a failure.
  result<void> close();
  const std::string& path() const { return path_; }
  std::uint64_t written_bytes() const { return written_; }

 private:
  output_file(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;
  std::uint64_t written_ = 0;
};

}  // namespace troupe
