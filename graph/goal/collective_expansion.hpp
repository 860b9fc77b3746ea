// collective_expansion: members' parts in a collective (transfer_program) as operations of the rank
// that a schedule_builder is building.
//
// A send becomes a send, a recv a recv; what reduces or copies becomes a calc where that takes
// time, else nothing: what waits for it waits for what it waited for. Several members of a
// communicator may live in one rank, as the devices of a host do: what they send each other becomes
// a calc of the receiver that waits for both and ends both.
// Not here: which steps there are (graph/schedule/).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/goal/schedule_builder.hpp"
#include "graph/schedule/transfer_program.hpp"

namespace troupe::goal {

/// Where the members of a communicator are, and what its operations carry and take. The same on
/// all members, but for the times.
struct expansion_options {
  /// The first of the tags_of() tags of the collective's messages. Collectives that may overtake
  /// each other, or share ranks, need others.
  std::uint64_t tag = 0;
  std::uint32_t lanes = 1;  ///< lanes_of(schedule_options)
  /// [group rank]: its rank in the schedule; empty: the same number.
  std::span<const std::uint32_t> ranks{};
  /// [group rank]: its number among the members in its rank; empty: 0, a member a rank.
  std::span<const std::uint32_t> seats{};
  std::uint32_t seats_max = 1;    ///< above all seats
  double reduce_ns_per_byte = 0;  ///< 0: no calc
  double copy_ns_per_byte = 0;    ///< of local copies; 0: no calc
  /// Of what members of one rank send each other.
  double inside_ns_per_byte = 0;
  std::uint64_t inside_latency_ns = 0;
};

constexpr std::uint64_t tags_of(const expansion_options& options) {
  return std::uint64_t{options.lanes} * options.seats_max * options.seats_max;
}

/// A member's program, and where in the rank its operations are put.
struct member_part {
  const transfer_program* program = nullptr;
  std::uint32_t member = 0;  ///< group rank
  std::uint16_t cpu = 0, nic = 0;
  /// Operations of the rank (numbers within it) that end before the collective begins.
  std::span<const std::uint32_t> after{};
};

/// Appends the member's operations to the rank that `to` is building. Returns those that have ended
/// when the collective has for it: one or two, or `after` where there was nothing to do.
std::vector<std::uint32_t> expand(const member_part& part, const expansion_options& options,
                                  schedule_builder& to);

/// The same for all members that live in the rank, at once. Returns the ends of each.
std::vector<std::vector<std::uint32_t>> expand_together(std::span<const member_part> parts,
                                                        const expansion_options& options,
                                                        schedule_builder& to);

}  // namespace troupe::goal
