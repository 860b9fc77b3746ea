// program_image: a program's file, read for one question: has nvcc linked CUDA's runtime into it,
// and where are that runtime's calls?
//
// 64-bit ELF files of this machine. Nothing of the file is believed: what lies beyond its end is
// not there. Not here: what is done about it (static_runtime.cpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

struct program_image {
  struct entry {
    std::string name;
    std::uint64_t address;  ///< in the file's own addresses
    std::uint64_t room;     ///< bytes up to the next function
  };
  bool has_device_code = false;  ///< nvcc has compiled something of it
  bool imports_runtime = false;  ///< it gets CUDA's runtime from a shared library
  std::vector<entry> entries;    ///< its functions cuda* and __cuda*, where it has device code

  bool has_own_runtime() const { return has_device_code && !imports_runtime; }
  /// Why the host device cannot take the place of the program's own runtime; empty: it can.
  std::string obstacle() const;
};

/// Everything false and empty: no such file.
program_image read_program_image(std::span<const std::byte> file);
/// The same of a file that cannot be read.
program_image open_program_image(const char* path);

}  // namespace troupe
