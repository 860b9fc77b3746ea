// collective_algorithm: the algorithms by name, what each knows, and which one is taken when nobody
// says.
//
// `automatic` takes what MPICH takes by default for a group that knows no topology (Thakur,
// Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH", 2005, and
// MPICH's defaults of today); bytes are those of the vector, for an all_to_all of what one member
// gives one other:
//   broadcast        n < 8 or under 12 KiB: binomial; under 512 KiB and n a power of two:
//                    halving-doubling; else ring
//   all_reduce       up to 2 KiB, or fewer elements than the power of two in n:
//                    recursive-doubling; else halving-doubling
//   reduce           as all_reduce, with binomial for the small ones
//   all_gather       n a power of two and under 512 KiB: recursive-doubling; under 80 KiB: bruck;
//                    else ring. Parts of given sizes: the same, by their sum
//   reduce_scatter   under 512 KiB: halving-doubling; else pairwise
//   all_to_all       n ≥ 8, up to 256 bytes, the same for all: bruck; up to 32 KiB, or splits:
//                    linear; else pairwise
//   gather, scatter  binomial; parts of given sizes: linear
//   barrier          dissemination
// `nccl` is NCCL's schedules, chosen as it does (nccl.hpp).
// Limits: collective_members_max; collective_chunks_max messages of a member that are pieces of a
// vector (double-tree, nccl).
// Not here: the algorithms (one a file beside this one).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/schedule/collective_shape.hpp"
#include "graph/schedule/host_layout.hpp"
#include "graph/schedule/nccl_settings.hpp"
#include "graph/schedule/transfer_program.hpp"

namespace troupe {

constexpr std::uint32_t collective_members_max = 1 << 24;
constexpr std::uint64_t collective_chunks_max = 1 << 24;

enum class algorithm : std::uint8_t {
  automatic,
  binomial,
  bruck,
  dissemination,
  double_tree,
  halving_doubling,
  linear,
  nccl,
  pairwise,
  recursive_doubling,
  ring,
};

/// "double-tree".
const char* to_string(algorithm which);
/// errc::usage names those there are.
result<algorithm> parse_algorithm(std::string_view name);
/// All but automatic, by name.
const std::vector<algorithm>& algorithms();
/// "Two binary trees, each with half of the vector".
const char* describe(algorithm which);
bool knows(algorithm which, operation op);

/// What `automatic` takes: never automatic. The same on every member.
algorithm choose_algorithm(const collective_shape& what);

struct schedule_options {
  algorithm how = algorithm::automatic;
  std::uint64_t chunk_bytes = 512 << 10;  ///< double-tree: its pieces are at most so long
  nccl_settings nccl = {};                ///< of nccl only
  /// nccl: who lives with whom; of the same members. None: each member on a host of its own.
  const host_layout* hosts = nullptr;
};

/// Writes member `self`'s part to `to`, which is cleared before. Nothing is left out for what is
/// empty (is_empty). errc::usage: the algorithm does not know the collective, or not with such
/// counts; the context names those it knows. errc::no_resources: a limit is reached.
result<void> write_program(const collective_shape& what, std::uint32_t self,
                           const schedule_options& options, transfer_program& to);

/// What write_program takes, for people: "ring", of nccl "Ring, Simple, 16 channels". errc::usage:
/// as NCCL's settings and such counts leave nothing.
result<std::string> describe_choice(const collective_shape& what, const schedule_options& options);

/// A program's lanes are below this, on every member and for every shape (of nccl: for such hosts).
std::uint32_t lanes_of(const schedule_options& options);

}  // namespace troupe
