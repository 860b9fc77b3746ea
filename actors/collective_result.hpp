// collective_result: which bytes of whose contribution each member gets, once a collective is
// complete.
//
// Reductions are done before: their sum then is member 0's contribution. Nothing is copied here: a
// piece is a slice.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "messages/collective.hpp"

namespace troupe {

/// `length` bytes of member `source`'s contribution, from byte `begin`.
struct piece {
  std::uint32_t source{};
  std::uint64_t begin{}, length{};
  friend bool operator==(const piece&, const piece&) = default;
};

/// What member `group_rank` gets, in order; empty: nothing (a barrier, or not the root). `calls` by
/// group rank.
std::vector<piece> pieces_of(std::span<const collective_call> calls, std::uint32_t group_rank);

}  // namespace troupe
