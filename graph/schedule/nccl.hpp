// nccl: NCCL's own schedules of a collective, channel by channel, in chunks and slices.
//
// Source: NCCL 2.28, src/device/all_reduce.h and its neighbours; rings and trees over hosts as
// src/graph/connect.cc joins them. A lane is a channel. A message's bytes are those on the wire.
// A sender is at most the steps of its buffer ahead of its receiver. On several hosts ring c enters
// each host at its c-th device and leaves it at the one before; on one host all rings are the same.
// all_to_all, gather and scatter are NCCL's grouped sends and receives (linear); a barrier is
// torch's: an all_reduce of one element.
#pragma once

#include "graph/schedule/collective_algorithm.hpp"
#include "graph/schedule/nccl_plan.hpp"

namespace troupe::rounds {

/// Appends the part of the member to `to`.
void nccl_ring(const collective_shape& what, std::uint32_t self, const nccl_plan& plan,
               const host_layout& hosts, const nccl_settings& settings, transfer_program& to);
void nccl_tree(const collective_shape& what, std::uint32_t self, const nccl_plan& plan,
               const host_layout& hosts, const nccl_settings& settings, transfer_program& to);

}  // namespace troupe::rounds
