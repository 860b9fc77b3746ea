// input_file: a regular file read at given places. Directories, devices and pipes are refused, so
// no read waits or lasts for ever.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "messages/error.hpp"

namespace troupe {

class input_file {
 public:
  /// errc::bad_input names the path and why.
  static result<input_file> open(const std::string& path);
  input_file(input_file&& other) noexcept;
  input_file& operator=(input_file&&) = delete;
  ~input_file();

  /// Fills `bytes`, or errc::bad_input (the file became shorter, input/output error).
  result<void> read(std::uint64_t offset, std::span<std::uint8_t> bytes) const;
  std::uint64_t size() const { return size_; }  ///< when it was opened
  const std::string& path() const { return path_; }

 private:
  input_file(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;
  std::uint64_t size_ = 0;
};

}  // namespace troupe
