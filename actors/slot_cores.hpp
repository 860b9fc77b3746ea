// slot_cores: thread_placement on a machine whose cores are the slots: slot n is the n-th of them.
//
// Without it a thread that is woken goes on behind the one that runs on its last core, though
// another core is idle: on a busy machine Linux looks for no idle one. The thread is bound to its
// slot's core here and unbound by itself as it wakes (interpose/client/thread_cores.hpp), so that
// nothing which it starts is bound.
#pragma once

#include <cstdint>
#include <memory>

#include "actors/outside.hpp"

namespace troupe {

/// Null where the cores that this process may use are not as many as the slots: the kernel then has
/// idle ones to choose from, or too few.
std::unique_ptr<thread_placement> make_slot_cores(std::uint32_t slots);

}  // namespace troupe
