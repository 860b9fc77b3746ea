// ids: the numbers by which ranks, communicators, operations and slots are named across processes
// and hosts.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <span>

namespace troupe {

/// A number that cannot be mistaken for another kind of number.
template <class Tag, class Rep>
struct id {
  Rep value{};
  friend auto operator<=>(const id&, const id&) = default;
  template <class Inspector>
  friend auto inspect(Inspector& f, id& x) {
    return f(x.value);
  }
};

using rank_id = id<struct rank_tag, std::uint32_t>;  ///< a logical rank of the world, from 0
using communicator_id = id<struct communicator_tag, std::uint64_t>;
using sequence_number =
    id<struct sequence_tag, std::uint64_t>;  ///< n-th collective of a communicator, from 1
using operation_id = id<struct operation_tag,
                        std::uint64_t>;  ///< n-th request of one process, from 1 (companions.hpp)
using slot_id = id<struct slot_tag, std::uint32_t>;
using call_site_id = id<struct call_site_tag, std::uint32_t>;  ///< 0: unknown

/// The id all members compute alike: a hash (FNV-1a, 64 bit) of the members in group order and of
/// how many communicators with exactly these members were created before (from 0). Never 0.
communicator_id make_communicator_id(std::span<const rank_id> members, std::uint32_t ordinal);

}  // namespace troupe

template <class Tag, class Rep>
struct std::hash<troupe::id<Tag, Rep>> {
  std::size_t operator()(const troupe::id<Tag, Rep>& x) const noexcept {
    return std::hash<Rep>{}(x.value);
  }
};
