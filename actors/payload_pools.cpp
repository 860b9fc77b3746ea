#include "actors/payload_pools.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace troupe {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t pool_bytes_max = std::uint64_t{1} << 62;  // an offset of a file is signed

std::uint64_t whole_pages(std::uint64_t size) { return (size + page - 1) / page * page; }

error failure(const char* what, const std::string& where, int code) {
  return {errc::no_resources, fmt::format("{} {}: {}", what, where, std::strerror(code))};
}

result<int> open_unnamed(const std::string& folder) {
  int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0) return descriptor;
  auto path = folder + "/troupe-spill-XXXXXX";  // a file system without O_TMPFILE
  descriptor = ::mkostemp(path.data(), O_CLOEXEC);
  if (descriptor < 0) return failure("no spill file in", folder, errno);
  ::unlink(path.c_str());
  return descriptor;
}

}  // namespace

result<std::unique_ptr<payload_pools>> payload_pools::open(const options& how) {
  for (auto size : {how.memory_bytes, how.spill_bytes})
    if (size > pool_bytes_max)
      return error{errc::usage,
                   fmt::format("a payload pool of {} bytes: {} is the most", size, pool_bytes_max)};
  std::unique_ptr<payload_pools> pools{new payload_pools};
  auto map = [](pool& into, const std::string& name) -> result<void> {
    if (::ftruncate(into.descriptor, static_cast<off_t>(into.size)) < 0)
      return failure("cannot size", name, errno);
    void* base = ::mmap(nullptr, into.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                        into.descriptor, 0);
    if (base == MAP_FAILED) return failure("cannot map", name, errno);
    ::madvise(base, into.size, MADV_DONTDUMP);  // or a core file would be as long as the pools
    into.base = static_cast<std::byte*>(base);
    return {};
  };
  const auto pages = whole_pages((how.world + 1ull) * sizeof(rank_page));
  pools->world_ = how.world;
  auto& memory = pools->pools_[0];
  memory.descriptor = ::memfd_create("troupe-payloads", MFD_CLOEXEC);
  if (memory.descriptor < 0) return failure("cannot create", "payload memory", errno);
  memory.size = whole_pages(how.memory_bytes) + pages;
  if (auto mapped = map(memory, "payload memory"); !mapped) return mapped.error();
  memory.begin = memory.used = pages;
  if (how.spill_bytes == 0) return pools;
  auto& spill = pools->pools_[1];
  TROUPE_TRY(descriptor, open_unnamed(how.spill_folder));
  spill.descriptor = descriptor;
  spill.size = whole_pages(how.spill_bytes);
  if (auto mapped = map(spill, "the spill file in " + how.spill_folder); !mapped)
    return mapped.error();
  return pools;
}

payload_pools::~payload_pools() {
  for (auto& pool : pools_) {
    if (pool.base) ::munmap(pool.base, pool.size);
    if (pool.descriptor >= 0) ::close(pool.descriptor);
  }
}

result<region> payload_pools::lease(std::uint64_t size) {
  if (size == 0 || size > pools_[0].size + pools_[1].size)
    return error{errc::no_resources,
                 fmt::format("{} bytes do not fit into the payload pools", size)};
  size = whole_pages(size);
  for (std::uint32_t n = 0; n < 2; ++n) {
    auto& pool = pools_[n];
    if (pool.size - pool.used < size) continue;
    region extent{n, pool.used, size, pool.used};
    pool.used += size;
    return extent;
  }
  return error{errc::no_resources,
               fmt::format("the payload pools are used up: {} bytes of memory and {} of spill file "
                           "are leased, {} more were asked for",
                           pools_[0].used, pools_[1].used, size)};
}

result<void> payload_pools::allocate_spilled(const region& extent) {
  if (extent.pool != 1) return {};
  const int code = ::posix_fallocate(pools_[1].descriptor, static_cast<off_t>(extent.offset),
                                     static_cast<off_t>(extent.length));
  if (code != 0)
    return failure("the spill file cannot grow", fmt::format("by {} bytes", extent.length), code);
  return {};
}

result<std::span<std::byte>> payload_pools::bytes_of(const region& where) {
  if (where.pool > 1)
    return error{errc::bad_input, fmt::format("there is no payload pool {}", where.pool)};
  const auto& pool = pools_[where.pool];
  const bool inside = where.offset <= pool.used && where.length <= pool.used - where.offset
                      && where.header % sizeof(region_header) == 0 && where.header >= pool.begin
                      && where.offset >= sizeof(region_header)
                      && where.header <= where.offset - sizeof(region_header);
  if (!inside)
    return error{errc::bad_input,
                 fmt::format("a payload of {} bytes at {} of pool {} lies outside what is leased",
                             where.length, where.offset, where.pool)};
  return std::span{pool.base + where.offset, where.length};
}

region_header& payload_pools::header_of(const region& where) {
  return *reinterpret_cast<region_header*>(pools_[where.pool].base + where.header);
}

rank_page& payload_pools::page_of(rank_id rank) {
  return *reinterpret_cast<rank_page*>(pools_[0].base + page_offset_of(rank));
}

run_clock& payload_pools::clock() {
  return *reinterpret_cast<run_clock*>(pools_[0].base + page_offset_of({world_}));
}

std::vector<int> payload_pools::descriptors() const {
  std::vector<int> all;
  for (const auto& pool : pools_)
    if (pool.descriptor >= 0) all.push_back(pool.descriptor);
  return all;
}

std::vector<std::uint64_t> payload_pools::sizes() const {
  std::vector<std::uint64_t> all;
  for (const auto& pool : pools_)
    if (pool.descriptor >= 0) all.push_back(pool.size);
  return all;
}

}  // namespace troupe
