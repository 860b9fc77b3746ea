// mapped_pools: the payload pools as this process sees them: mapped whole, addressed with bounds.
//
// A pool stays mapped until the process ends (operations of other threads may still copy).
// Not here: who owns which part (region_allocator.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "interpose/descriptor.hpp"
#include "messages/error.hpp"
#include "messages/region_header.hpp"
#include "messages/wire.hpp"

namespace troupe {

class mapped_pools {
 public:
  static result<mapped_pools> map(const std::vector<std::uint64_t>& sizes,
                                  const std::vector<descriptor>& descriptors);

  /// The bytes of a region; bad_input when it does not lie inside its pool.
  result<std::span<std::byte>> bytes_of(const region& where) const;
  /// Its header; bad_input when that does not lie inside, before the bytes and aligned.
  result<region_header*> header_of(const region& where) const;
  result<rank_page*> rank_page_at(std::uint64_t offset) const;
  result<const run_clock*> clock_of(std::uint32_t world) const;

 private:
  std::vector<std::span<std::byte>> pools_;
};

}  // namespace troupe
