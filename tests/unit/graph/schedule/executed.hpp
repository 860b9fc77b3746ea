// executed: runs the programs of all members of a collective on integers and holds the outcome
// against what the collective is.
//
// Every send waits for its recv. Steps run in an order drawn by a seed; what a send reads is taken
// when it is released and again when it is received, and must be the same. Sums wrap.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/schedule/collective_algorithm.hpp"

namespace troupe {

using vector_values = std::vector<std::uint64_t>;

/// What a member has, and of whose begin its end comes after.
struct member_state {
  vector_values data, result, scratch;
  std::vector<bool> comes_after;
};

/// What is wrong with the programs, if anything: a deadlock, a message of another size, an order
/// that is not kept, data that changes under way.
struct execution {
  std::vector<member_state> members;
  std::optional<std::string> wrong;
  std::uint64_t messages = 0, bytes = 0;
};

/// `before[i]`: member i's vectors at the begin; scratch grows as the steps need it.
execution executed(const std::vector<transfer_program>& programs, std::vector<member_state> before,
                   std::uint64_t seed);

/// All members of the same collective, of drawn numbers. `shapes[i]`: as member i sees it.
/// What is wrong, if anything, with the outcome too.
execution checked(const std::vector<collective_shape>& shapes,
                  const std::vector<transfer_program>& programs, std::uint64_t seed);
execution checked(const std::vector<collective_shape>& shapes, const schedule_options& options,
                  std::uint64_t seed);

}  // namespace troupe
