// patterns: communication patterns as schedules. Each ends, and every message has its recv.
//
// Algorithms: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
// MPICH" (2005) for the trees, recursive doubling and rings; Hensgen, Finkel, Manber, "Two
// algorithms for barrier synchronization" (1988) for dissemination; Koch, Baker, Alcouffe's
// wavefront (Sweep3D) for the sweep. Not here: which bytes of a vector go where; only how many do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/goal/schedule.hpp"

namespace troupe::goal {

struct pattern_options {
  std::uint32_t ranks = 8;
  std::uint64_t size = 8;      ///< bytes a message; of an all-reduce the vector's
  std::uint32_t steps = 1;     ///< how often it is done, each after the one before
  std::uint64_t compute_ns{};  ///< before each step, on each rank (of a sweep before each send)
};

struct pattern {
  const char *name, *what;
  result<schedule> (*make)(const pattern_options&);
};

/// Ascending by name.
const std::vector<pattern>& patterns();

/// errc::usage names the patterns there are, or what does not fit a limit.
result<schedule> make_pattern(const std::string& name, const pattern_options& options);

}  // namespace troupe::goal
