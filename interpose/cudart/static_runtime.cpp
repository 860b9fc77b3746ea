// static_runtime: a program that has CUDA's runtime linked into it (nvcc's default) uses this one
// all the same: when this library is loaded, before the program's own first function runs, each
// entry of the program's runtime is overwritten with a jump to ours.
//
// An entry has room for a jump of 5 bytes only, which reaches 2 GiB: it goes to a table near the
// program, from which a jump reaches anywhere. Not here: which entries there are
// (program_image.hpp); shared libraries that have a runtime of their own.
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interpose/cudart/program_image.hpp"
#include "messages/error.hpp"

namespace troupe {
namespace {

constexpr std::uint64_t jump_bytes = 5, far_jump_bytes = 16, reach = std::uint64_t{1} << 31;

[[noreturn]] void give_up(const std::string& why) {
  char program[4096] = "the program";
  const auto length = ::readlink("/proc/self/exe", program, sizeof program - 1);
  if (length > 0) program[length] = '\0';
  std::fprintf(stderr, "troupe: %s: %s\n", program, why.c_str());
  std::_Exit(exit_status(errc::bad_input));
}

/// Where the program was loaded, less where its file says.
std::uint64_t load_bias() {
  std::uint64_t bias = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* first, std::size_t, void* into) {
        *static_cast<std::uint64_t*>(into) = first->dlpi_addr;
        return 1;
      },
      &bias);
  return bias;
}

/// Free addresses within reach of all of the program's code.
std::byte* map_near(std::uint64_t code, std::size_t size) {
  constexpr std::uint64_t step = 1 << 20;
  for (std::uint64_t away = step; away < reach - 64 * step; away += step)
    for (const auto at : {code + away, code - away}) {
      if (at < step || at > std::uint64_t{1} << 47) continue;
      auto* const wanted = reinterpret_cast<void*>(at / step * step);
      void* mapped = ::mmap(wanted, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (mapped == wanted) return static_cast<std::byte*>(mapped);
      if (mapped != MAP_FAILED) ::munmap(mapped, size);  // a kernel that does not know the flag
    }
  give_up("there is no memory near it for jumps to the host device");
}

void protect(std::uint64_t begin, std::uint64_t end, int how) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  begin = begin / page * page;
  if (::mprotect(reinterpret_cast<void*>(begin), end - begin, how) != 0)
    give_up(std::string("its code cannot be changed for the host device: ") + std::strerror(errno));
}

void write_far_jump(std::byte* at, const void* to) {
  constexpr unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0};  // jmp *(rip): the address follows
  std::memcpy(at, jump, sizeof jump);
  std::memcpy(at + sizeof jump, &to, sizeof to);
}

void write_jump(std::uint64_t at, const std::byte* to) {
  const auto distance =
      static_cast<std::int32_t>(reinterpret_cast<std::uint64_t>(to) - (at + jump_bytes));
  unsigned char jump[jump_bytes] = {0xe9};
  std::memcpy(jump + 1, &distance, sizeof distance);
  std::memcpy(reinterpret_cast<void*>(at), jump, sizeof jump);
}

void* own_library() {
  Dl_info here;
  if (!::dladdr(reinterpret_cast<const void*>(&own_library), &here)) return nullptr;
  return ::dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD);
}

void redirect(const program_image& image) {
  const auto bias = load_bias();
  std::uint64_t first = ~std::uint64_t{0}, last = 0;
  for (const auto& entry : image.entries) {
    first = std::min(first, bias + entry.address);
    last = std::max(last, bias + entry.address + jump_bytes);
  }
  const auto table_bytes = image.entries.size() * far_jump_bytes;
  auto* const table = map_near(last, table_bytes);
  auto* const ours = own_library();
  protect(first, last, PROT_READ | PROT_WRITE | PROT_EXEC);
  auto* next = table;
  for (const auto& entry : image.entries) {
    const void* const call = ours ? ::dlsym(ours, entry.name.c_str()) : nullptr;
    // The function after one that is too short would lose its first bytes.
    if (!call || entry.room < jump_bytes) continue;
    write_far_jump(next, call);
    write_jump(bias + entry.address, next);
    next += far_jump_bytes;
  }
  protect(first, last, PROT_READ | PROT_EXEC);
  ::mprotect(table, table_bytes, PROT_READ | PROT_EXEC);
}

__attribute__((constructor)) void take_place_of_static_runtime() {
  const auto image = open_program_image("/proc/self/exe");
  if (!image.has_own_runtime()) return;
  if (const auto why = image.obstacle(); !why.empty()) give_up(why);
#ifndef __x86_64__
  give_up(
      "CUDA's runtime is linked into it, which is changed on x86-64 only: relink it with nvcc "
      "-cudart shared");
#endif
  redirect(image);
}

}  // namespace
}  // namespace troupe
