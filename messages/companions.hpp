// companions: the logical ranks of one process, by number.
//
// A process begins as one logical rank, its lead. Where it is several members of communicators (the
// devices of an NCCL program), the further ones are its lead's companions: ranks without a slot of
// their own. In a run of P processes the n-th companion of lead L is rank n·P + L, so that nobody
// has to be asked for a number, the numbers do not depend on who is first, and one process' ranks
// are 0, 1, 2, … An operation's number says which of its process' ranks called it.
#pragma once

#include <cstdint>

#include "messages/ids.hpp"

namespace troupe {

/// Which of a process' ranks: 0 is the lead, n its n-th companion.
using companion_number = std::uint32_t;

constexpr companion_number companions_max = 4095;      ///< of one process
constexpr std::uint32_t logical_ranks_max = 1u << 20;  ///< of a run

constexpr rank_id rank_of(rank_id lead, companion_number companion, std::uint32_t processes) {
  return {companion * processes + lead.value};
}
constexpr rank_id lead_of(rank_id rank, std::uint32_t processes) {
  return {rank.value % processes};
}

constexpr unsigned operation_count_bits = 48;  ///< the bits above have the companion

/// The n-th request of a process (from 1), made by this one of its ranks.
constexpr operation_id operation_of(companion_number companion, std::uint64_t count) {
  return {std::uint64_t{companion} << operation_count_bits | count};
}
constexpr companion_number companion_of(operation_id operation) {
  return static_cast<companion_number>(operation.value >> operation_count_bits);
}
constexpr std::uint64_t count_of(operation_id operation) {
  return operation.value & ((std::uint64_t{1} << operation_count_bits) - 1);
}

}  // namespace troupe
