// profile_event: a call's line in torch's profiles ("gloo:all_reduce"), as ProcessGroupGloo and
// ProcessGroupNCCL leave one.
//
// It lasts until the last that holds it lets go, in whatever thread that is; while no profiler is
// on there is none. Not here: who holds it (posted_operation.hpp).
#pragma once

#include <memory>
#include <string>

#include <torch/csrc/distributed/c10d/Work.hpp>

#include "interpose/torch/tensors.hpp"

namespace troupe {

using profile_event = std::shared_ptr<void>;

/// Begins the event of that backend ("gloo", "nccl", "mpi"), if somebody profiles this thread; a
/// profile with shapes shows those of `shown`.
profile_event begin_event(const std::string& backend, const std::string& what,
                          const tensor_list& shown);

/// False when what this thread begins now would be nothing.
bool somebody_profiles();

/// What the backend calls the operation in profiles.
const char* event_name(const std::string& backend, c10d::OpType kind);

}  // namespace troupe
