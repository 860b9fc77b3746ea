// program_image: what is read of a program's file, and that none of it is believed.
#include "interpose/cudart/program_image.hpp"

#include <elf.h>
#include <catch2/catch.hpp>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

namespace troupe {
namespace {

using Catch::Matchers::Contains;
using file_bytes = std::vector<std::byte>;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// An ELF file of the sections that matter.
class program_file {
 public:
  struct function {
    const char* name;
    std::uint64_t address;
    bool is_defined = true;
  };

  program_file() { add("", SHT_NULL, {}); }
  program_file& with_device_code() {
    add(".nv_fatbin", SHT_PROGBITS, bytes_of("code"));
    return *this;
  }
  program_file& with(std::uint32_t type, const std::vector<function>& functions) {
    std::string names(1, '\0');
    std::vector<Elf64_Sym> symbols(1);
    for (const auto& one : functions) {
      auto& symbol = symbols.emplace_back();
      symbol.st_name = static_cast<Elf64_Word>(names.size());
      symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
      symbol.st_shndx = one.is_defined ? 1 : SHN_UNDEF;
      symbol.st_value = one.address;
      names += one.name + std::string(1, '\0');
    }
    add("names", SHT_STRTAB, bytes_of(names));
    add("symbols", type, std::as_bytes(std::span(symbols)));
    sections_.back().sh_link = static_cast<Elf64_Word>(sections_.size() - 2);
    return *this;
  }
  file_bytes written() const {
    auto all = *this;
    all.add(".shstrtab", SHT_STRTAB, bytes_of(all.names_ + ".shstrtab"));
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(all.sections_.size());
    header.e_shstrndx = static_cast<Elf64_Half>(all.sections_.size() - 1);
    header.e_shoff = sizeof header + all.content_.size();
    file_bytes file;
    const auto put = [&](const void* from, std::size_t size) {
      const auto* begin = static_cast<const std::byte*>(from);
      file.insert(file.end(), begin, begin + size);
    };
    put(&header, sizeof header);
    put(all.content_.data(), all.content_.size());
    put(all.sections_.data(), all.sections_.size() * sizeof(Elf64_Shdr));
    return file;
  }

 private:
  void add(const std::string& name, std::uint32_t type, std::span<const std::byte> bytes) {
    auto& section = sections_.emplace_back();
    section.sh_name = static_cast<Elf64_Word>(names_.size());
    section.sh_type = type;
    section.sh_offset = sizeof(Elf64_Ehdr) + content_.size();
    section.sh_size = bytes.size();
    names_ += name + std::string(1, '\0');
    content_.insert(content_.end(), bytes.begin(), bytes.end());
    content_.resize((content_.size() + 7) / 8 * 8);
  }
  std::vector<Elf64_Shdr> sections_;
  file_bytes content_;
  std::string names_;
};

const std::vector<program_file::function> runtime_13 = {
    {"__cudaGetProcAddress", 0x1100},    {"main", 0x1000},
    {"__cudaRegisterFatBinary", 0x1040}, {"cudaMalloc", 0x1103},
    {"not_cudaMalloc", 0x1200},          {"cudaFree", 0x1300, false}};

TEST_CASE("a program with a runtime of its own has its entries, with the room of each") {
  const auto file = program_file().with_device_code().with(SHT_SYMTAB, runtime_13).written();
  const auto image = read_program_image(file);
  CHECK(image.has_own_runtime());
  CHECK(image.obstacle().empty());
  REQUIRE(image.entries.size() == 3);
  CHECK(image.entries[0].name == "__cudaGetProcAddress");
  CHECK(image.entries[0].address == 0x1100);
  CHECK(image.entries[0].room == 3);
  CHECK(image.entries[1].room == 0xc0);
  CHECK(image.entries[2].room == 0xfd);
}

TEST_CASE("programs without device code, or with a shared runtime, are left alone") {
  CHECK_FALSE(
      read_program_image(program_file().with(SHT_SYMTAB, runtime_13).written()).has_own_runtime());
  const auto shared = program_file()
                          .with_device_code()
                          .with(SHT_DYNSYM, {{"__cudaRegisterFatBinary", 0, false}})
                          .written();
  CHECK_FALSE(read_program_image(shared).has_own_runtime());
  const auto self = open_program_image("/proc/self/exe");
  CHECK_FALSE(self.has_device_code);
  CHECK(self.obstacle().empty());
  CHECK(open_program_image("/nowhere").entries.empty());
  CHECK(open_program_image("/proc").entries.empty());
}

TEST_CASE("a stripped program, and one of an older CUDA, say what to do") {
  const auto stripped = program_file().with_device_code().written();
  CHECK_THAT(read_program_image(stripped).obstacle(), Contains("nvcc -cudart shared"));
  auto older = runtime_13;
  older.push_back({"cudaGetDeviceProperties_v2", 0x1400});
  const auto file = program_file().with_device_code().with(SHT_SYMTAB, older).written();
  CHECK_THAT(read_program_image(file).obstacle(), Contains("CUDA 13"));
}

TEST_CASE("nothing of a damaged program's file is believed") {
  const auto whole = program_file()
                         .with_device_code()
                         .with(SHT_SYMTAB, runtime_13)
                         .with(SHT_DYNSYM, {{"__cudaRegisterFatBinary", 0, false}})
                         .written();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const file_bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    CHECK(read_program_image(cut).entries.empty());  // the table of sections comes last
  }
  std::minstd_rand chance(1);
  for (int round = 0; round < 20'000; ++round) {
    auto damaged = whole;
    for (int n = 0; n < 4; ++n)
      damaged[chance() % damaged.size()] = static_cast<std::byte>(chance() >> 8);
    const auto image = read_program_image(damaged);
    CHECK(image.entries.size() <= whole.size() / sizeof(Elf64_Sym));
  }
}

}  // namespace
}  // namespace troupe
