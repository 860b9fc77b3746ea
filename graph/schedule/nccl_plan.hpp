// nccl_plan: how NCCL would carry out a collective: algorithm, protocol, what each channel does.
//
// Source: NCCL 2.28: the choice is src/graph/tuning.cc's model of latency and bandwidth for its
// generation's constants, with no latency of the network itself; channels and chunks are
// src/enqueue.cc's for a collective that is launched by itself. Of NCCL's algorithms ring and tree:
// what these would not be taken for (NVLS, CollNet, PAT) they are taken for.
// Limits: a channel's elements are of 1, 2, 4, 8 or 16 bytes.
#pragma once

#include <vector>

#include "graph/schedule/collective_shape.hpp"
#include "graph/schedule/host_layout.hpp"
#include "graph/schedule/nccl_settings.hpp"

namespace troupe {

/// A range of the vector (all_gather, reduce_scatter: of each member's part), in elements.
struct nccl_channel_part {
  std::uint32_t channel = 0;
  std::uint64_t begin = 0, count = 0;
  std::uint64_t chunk = 0;  ///< elements that a step of the algorithm moves
};

struct nccl_plan {
  nccl_algorithm how{};
  nccl_protocol protocol{};
  std::vector<nccl_channel_part> parts;
};

/// Which of NCCL's functions does it: none for all_to_all, gather, scatter, barrier.
bool is_nccl_function(operation op);
nccl_function function_of(operation op);

/// Channels that a communicator has.
std::uint32_t channel_count(const nccl_settings& settings, const host_layout& hosts);
/// The ring or tree that channel `channel` is, and (of a tree) which of the two.
struct nccl_channel {
  std::uint32_t ring;
  int tree;
};
nccl_channel channel_at(std::uint32_t channel, const nccl_settings& settings,
                        const host_layout& hosts);

/// What a protocol puts on the wire for so many bytes: LL 8 of 16 bytes, LL128 120 of 128 in lines
/// of 16.
std::uint64_t wire_bytes(nccl_protocol protocol, std::uint64_t bytes);

/// The same for all members. errc::usage: the settings leave nothing for it, its parts are not
/// equal, or NCCL has no such elements.
result<nccl_plan> make_nccl_plan(const collective_shape& what, const host_layout& hosts,
                                 const nccl_settings& settings);

/// Chunks that a member sends at most.
std::uint64_t steps_of(const nccl_plan& plan, const collective_shape& what);

/// Microseconds that NCCL's model gives a collective of so many bytes, or none where it would not
/// be considered.
struct nccl_estimate {
  bool is_possible = false;
  double us = 0;
};
nccl_estimate estimate(nccl_function function, nccl_algorithm how, nccl_protocol protocol,
                       std::uint64_t bytes, const host_layout& hosts,
                       const nccl_settings& settings);

}  // namespace troupe
