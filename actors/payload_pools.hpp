// payload_pools: the memory that payloads lie in, shared with the ranks: pool 0 in memory (a
// memfd), pool 1 a spill file.
//
// Both are sparse and unnamed: they vanish with the last process that has them. Pool 0 begins with
// the ranks' pages. Limits: each pool's size; an extent of the spill file is allocated on disk
// before it is leased (so a full disk is an error here and never a SIGBUS there).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "messages/error.hpp"
#include "messages/region_header.hpp"
#include "messages/wire.hpp"

namespace troupe {

class payload_pools {
 public:
  struct options {
    std::uint32_t world{};
    std::uint64_t memory_bytes{}, spill_bytes{};
    std::string spill_folder;
  };
  /// errc::usage: a size that no file has; errc::no_resources: this machine has not so much.
  static result<std::unique_ptr<payload_pools>> open(const options& how);
  ~payload_pools();
  payload_pools(const payload_pools&) = delete;
  payload_pools& operator=(const payload_pools&) = delete;

  /// Raw memory of the next free extent, at least `size` bytes: from pool 0, else from the spill
  /// file, whose part is still to be allocated (allocate_spilled). errc::no_resources when both are
  /// used up.
  result<region> lease(std::uint64_t size);
  /// Makes the disk hold the extent (blocks: a worker's job).
  result<void> allocate_spilled(const region& extent);

  /// The bytes of a region a rank named; errc::bad_input when it does not lie, with its header,
  /// inside what is leased.
  result<std::span<std::byte>> bytes_of(const region& where);
  region_header& header_of(const region& where);
  rank_page& page_of(rank_id rank);
  std::uint64_t page_offset_of(rank_id rank) const { return rank.value * sizeof(rank_page); }

  run_clock& clock();

  std::vector<int> descriptors() const;
  std::vector<std::uint64_t> sizes() const;

 private:
  payload_pools() = default;
  struct pool {
    int descriptor = -1;
    std::byte* base = nullptr;
    std::uint64_t size = 0, used = 0, begin = 0;  // leases lie in [begin, used)
  };
  pool pools_[2];
  std::uint32_t world_ = 0;
};

}  // namespace troupe
