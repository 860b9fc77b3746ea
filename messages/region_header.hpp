// region_header: the 64 bytes before every payload region of a pool, and the page of a rank: words that two processes share.
//
// A region belongs to the rank that leased the extent around it. It is free for reuse when state is 0:
//   the owner sets `posted` before it sends the issue frame; whoever resolves the operation replaces it by the number of
//   readers the result in this region has (0: none), before it sends the first completion; each reader subtracts 1
//   once it has copied, per piece. A piece names its region's header (region::header), being often only a slice of it.
// An extent (the answer to a lease) is raw memory: the client lays headers and payloads into it itself.
#pragma once

#include <atomic>
#include <cstdint>

namespace troupe {

struct alignas(64) region_header {
  static constexpr std::uint32_t posted = 0x80000000u;
  std::atomic<std::uint32_t> state;
};
static_assert(sizeof(region_header) == 64);

/// In pool 0, one a rank, from offset 0.
struct alignas(64) rank_page {
  /// 1: the rank holds a slot. Troupe writes it; a client that finds 0 when a program calls it takes a slot first.
  std::atomic<std::uint32_t> holds_slot;
};
static_assert(sizeof(rank_page) == 64);

}  // namespace troupe
