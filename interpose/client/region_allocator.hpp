// region_allocator: carves this rank's leased extents into regions: a header, then the payload,
// 64-byte aligned.
//
// Invariant: a region is handed out with state `posted` and is taken back only once its header says
// 0; who sets it to 0 may be another process. Free neighbours are joined while looking for room, so
// nothing has to be told of a release. Not here: leasing (the caller does it when take() finds no
// room), what a payload is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "messages/region_header.hpp"
#include "messages/wire.hpp"

namespace troupe {

struct taken_region {
  region where;
  std::span<std::byte> bytes;
};

class region_allocator {
 public:
  /// Raw pool memory that is ours from now on; `where` names it, both 64-byte aligned (else the
  /// edges are left out).
  void add_extent(const region& where, std::span<std::byte> memory);
  /// First fit; nullopt: lease more.
  std::optional<taken_region> take(std::uint64_t length);
  /// What to lease for a payload of this length: a power of two, at least 1 MiB and twice the need.
  static std::uint64_t extent_size_for(std::uint64_t length);

 private:
  struct block {
    std::uint64_t begin;  ///< of the header, within the extent
    std::uint64_t size;   ///< header and payload
  };
  struct extent {
    region where;
    std::span<std::byte> memory;
    std::vector<block> blocks;  ///< in order, without gaps
  };
  static region_header& header_at(const extent& in, const block& of);
  static std::optional<taken_region> take_from(extent& in, std::uint64_t length);

  std::vector<extent> extents_;
};

}  // namespace troupe
