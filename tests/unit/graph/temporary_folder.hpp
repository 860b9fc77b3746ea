// temporary_folder: a folder of a test's own, gone with it; and whole files as bytes.
#pragma once

#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace troupe {

class temporary_folder {
 public:
  temporary_folder() {
    auto pattern = (std::filesystem::temp_directory_path() / "troupe_test_XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline std::vector<char> bytes_of_file(const std::string& path) {
  std::ifstream from(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(from), {}};
}

inline void write_file(const std::string& path, const char* bytes, std::size_t count) {
  std::filesystem::remove(path);  // some file systems wait for the disk where a file is truncated
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes, static_cast<std::streamsize>(count));
}

}  // namespace troupe
