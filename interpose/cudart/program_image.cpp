#include "interpose/cudart/program_image.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace troupe {
namespace {

/// A value or an array of them at an offset; nothing when the file does not have all of it.
template <class T>
std::span<const T> array_at(std::span<const std::byte> file, std::uint64_t offset,
                            std::uint64_t count) {
  if (offset > file.size() || count > (file.size() - offset) / sizeof(T)
      || offset % alignof(T) != 0)
    return {};
  return {reinterpret_cast<const T*>(file.data() + offset), static_cast<std::size_t>(count)};
}

std::string_view text_at(std::span<const std::byte> file, const Elf64_Shdr& strings,
                         std::uint64_t offset) {
  const auto all = array_at<char>(file, strings.sh_offset, strings.sh_size);
  if (offset >= all.size()) return {};
  const auto rest = all.subspan(static_cast<std::size_t>(offset));
  return {rest.data(), ::strnlen(rest.data(), rest.size())};
}

bool is_of_runtime(std::string_view name) {
  return name.starts_with("cuda") || name.starts_with("__cuda");
}

/// Of functions, by compilers: what the last one has at least.
constexpr std::uint64_t alignment = 16;

void read_defined(program_image& into, std::span<const std::byte> file,
                  std::span<const Elf64_Sym> symbols, const Elf64_Shdr& strings) {
  std::vector<std::uint64_t> starts;
  for (const auto& symbol : symbols) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
    starts.push_back(symbol.st_value);
    const auto name = text_at(file, strings, symbol.st_name);
    if (is_of_runtime(name)) into.entries.push_back({std::string(name), symbol.st_value, 0});
  }
  std::sort(starts.begin(), starts.end());
  for (auto& entry : into.entries) {
    const auto next = std::upper_bound(starts.begin(), starts.end(), entry.address);
    entry.room = next == starts.end() ? alignment : *next - entry.address;
  }
}

}  // namespace

std::string program_image::obstacle() const {
  if (!has_own_runtime()) return {};
  const auto has = [&](const char* name) {
    return std::any_of(entries.begin(), entries.end(),
                       [&](const entry& one) { return one.name == name; });
  };
  if (!has("__cudaRegisterFatBinary"))
    return "CUDA's runtime is linked into it and its symbols are stripped, so that the host device "
           "cannot take its place: relink it with nvcc -cudart shared, or do not strip it";
  if (has("cudaGetDeviceProperties_v2"))
    return "an older CUDA's runtime is linked into it, and the host device can take the place of "
           "CUDA 13's only: build it with CUDA 13";
  return {};
}

program_image read_program_image(std::span<const std::byte> file) {
  program_image image;
  const auto header = array_at<Elf64_Ehdr>(file, 0, 1);
  if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0
      || header[0].e_ident[EI_CLASS] != ELFCLASS64 || header[0].e_shentsize != sizeof(Elf64_Shdr))
    return image;
  const auto sections = array_at<Elf64_Shdr>(file, header[0].e_shoff, header[0].e_shnum);
  if (header[0].e_shstrndx >= sections.size()) return image;
  const auto& names = sections[header[0].e_shstrndx];
  image.has_device_code = std::any_of(sections.begin(), sections.end(), [&](const auto& section) {
    return text_at(file, names, section.sh_name) == ".nv_fatbin";
  });
  if (!image.has_device_code) return image;  // of most programs nothing more is read
  for (const auto& section : sections) {
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) continue;
    const auto symbols =
        array_at<Elf64_Sym>(file, section.sh_offset, section.sh_size / sizeof(Elf64_Sym));
    if (section.sh_link >= sections.size()) continue;
    const auto& strings = sections[section.sh_link];
    if (section.sh_type == SHT_SYMTAB) {
      read_defined(image, file, symbols, strings);
      continue;
    }
    for (const auto& symbol : symbols)
      if (symbol.st_shndx == SHN_UNDEF
          && text_at(file, strings, symbol.st_name).starts_with("__cudaRegisterFatBinary"))
        image.imports_runtime = true;
  }
  return image;
}

program_image open_program_image(const char* path) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  struct stat about;
  void* mapped = MAP_FAILED;
  const auto size = file >= 0 && ::fstat(file, &about) == 0 && S_ISREG(about.st_mode)
                        ? static_cast<std::size_t>(about.st_size)
                        : 0;
  if (size) mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (file >= 0) ::close(file);
  if (mapped == MAP_FAILED) return {};
  auto image = read_program_image({static_cast<const std::byte*>(mapped), size});
  ::munmap(mapped, size);
  return image;
}

}  // namespace troupe
