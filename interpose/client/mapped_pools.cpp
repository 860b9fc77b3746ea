#include "interpose/client/mapped_pools.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace troupe {
namespace {

error outside(const region& where) {
  return {errc::bad_input, "a region outside the pools: pool " + std::to_string(where.pool)
                               + ", offset " + std::to_string(where.offset) + ", length "
                               + std::to_string(where.length) + ", header "
                               + std::to_string(where.header)};
}

}  // namespace

result<mapped_pools> mapped_pools::map(const std::vector<std::uint64_t>& sizes,
                                       const std::vector<descriptor>& descriptors) {
  mapped_pools mapped;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) {
      mapped.pools_.emplace_back();
      continue;
    }
    // Beyond the file's end an access would be a SIGBUS.
    struct stat file {};
    if (::fstat(descriptors[i].get(), &file) != 0
        || static_cast<std::uint64_t>(file.st_size) < sizes[i])
      return error{errc::bad_input,
                   "payload pool " + std::to_string(i) + " is smaller than the runner says"};
    void* base = ::mmap(nullptr, sizes[i], PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                        descriptors[i].get(), 0);
    if (base == MAP_FAILED)
      return error{errc::no_resources, "payload pool " + std::to_string(i) + " ("
                                           + std::to_string(sizes[i])
                                           + " bytes) cannot be mapped: " + std::strerror(errno)};
    ::madvise(base, sizes[i], MADV_DONTDUMP);  // or a core file would be as long as the pools
    mapped.pools_.emplace_back(static_cast<std::byte*>(base), sizes[i]);
  }
  return mapped;
}

result<std::span<std::byte>> mapped_pools::bytes_of(const region& where) const {
  if (where.pool >= pools_.size()) return outside(where);
  const auto pool = pools_[where.pool];
  if (where.offset > pool.size() || where.length > pool.size() - where.offset)
    return outside(where);
  return pool.subspan(where.offset, where.length);
}

result<region_header*> mapped_pools::header_of(const region& where) const {
  if (where.pool >= pools_.size()) return outside(where);
  const auto pool = pools_[where.pool];
  constexpr auto size = sizeof(region_header);
  if (pool.size() < size || where.header > pool.size() - size || where.header % size != 0
      || where.header + size > where.offset)
    return outside(where);
  return reinterpret_cast<region_header*>(pool.data() + where.header);
}

result<rank_page*> mapped_pools::rank_page_at(std::uint64_t offset) const {
  const region page{0, offset, sizeof(rank_page), 0};
  TROUPE_TRY(bytes, bytes_of(page));
  if (offset % alignof(rank_page) != 0) return outside(page);
  return reinterpret_cast<rank_page*>(bytes.data());
}

result<const run_clock*> mapped_pools::clock_of(std::uint32_t world) const {
  TROUPE_TRY(page, rank_page_at(std::uint64_t{world} * sizeof(rank_page)));
  return reinterpret_cast<const run_clock*>(page);
}

}  // namespace troupe
