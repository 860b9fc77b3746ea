// launched_rank: what a rank does that no launcher of ours started: it finds its number, tells the
// warden who it is, and writes where a rank's output goes.
#pragma once

#include <cstdint>

#include "messages/ids.hpp"

namespace troupe {

/// RANK, or what MPI's launchers call it in a program that starts its ranks itself. Null: no rank.
const char* rank_in_environment();
/// Did a launcher of MPI's start this process? Its calls poll without sleeping.
bool is_from_mpi();

/// A datagram to the warden (interpose/launch/rank_notice.h), when there is one to be told.
void tell_warden(rank_id rank);
/// What only this process knows once its parent does not wait for it: the memory that it used.
void tell_warden_of_leave();

/// Standard output and error become the rank's own pipes where they still are the program's own:
/// what they were sent to by somebody on the way stays. Nothing happens where that cannot be had.
void take_own_output(rank_id rank);

}  // namespace troupe
