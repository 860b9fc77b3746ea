// patterns: communication patterns as schedules. Each ends, and every message has its recv.
//
// Collectives by every algorithm that knows them ("ring-all-reduce"), or by what is chosen for
// their size ("all-reduce"), members being the ranks, the root rank 0 (graph/schedule/);
// "dissemination" and "recursive-doubling" are older names of two. Koch, Baker, Alcouffe's
// wavefront (Sweep3D) for the sweep. Not here: which bytes of a vector go where (graph/schedule/).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/goal/schedule.hpp"
#include "graph/schedule/nccl_settings.hpp"

namespace troupe::goal {

struct pattern_options {
  std::uint32_t ranks = 8;
  /// Bytes: a message's; of all_reduce, broadcast and reduce the vector's; of other collectives
  /// what is one member's, of all_to_all what one gives one other, of barrier a signal's.
  std::uint64_t size = 8;
  std::uint32_t steps = 1;     ///< how often it is done, each after the one before
  std::uint64_t compute_ns{};  ///< before each step, on each rank (of a sweep before each send)
  // Of collectives only; what a pattern does not use is refused.
  std::optional<std::uint64_t> chunk_bytes = {};  ///< double-tree: what a message is at most
  std::optional<std::uint32_t> per_host = {};  ///< nccl, or with inside_gb: ranks that share a host
  /// GB/s inside a host: hosts are the schedule's ranks, and what theirs send each other a calc of
  /// the receiver's, each with a cpu and a nic of its own.
  std::optional<double> inside_gb = {};
  std::uint64_t inside_latency_ns = 0;  ///< of each such transfer
  nccl_settings nccl = {};              ///< nccl
};

struct pattern {
  std::string name, what;
  /// `chosen` (may be null): for a collective becomes what does it: "Ring, Simple, 16 channels".
  std::function<result<schedule>(const pattern_options&, std::string* chosen)> make;
};

/// Ascending by name.
const std::vector<pattern>& patterns();

/// errc::usage names the patterns there are, or what does not fit a limit.
result<schedule> make_pattern(const std::string& name, const pattern_options& options,
                              std::string* chosen = nullptr);

}  // namespace troupe::goal
