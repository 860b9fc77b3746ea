// this_rank: the one rank_client of this process, from troupe_connect to its end; none in forked
// children.
//
// It is never destroyed: threads of the program may be inside until the process is gone.
#pragma once

#include "interpose/client/rank_client.hpp"

namespace troupe {

/// Connects as TROUPE_SOCKET and RANK say, once.
result<void> connect_this_rank();
/// Null: not connected, or a forked child.
rank_client* this_rank();

}  // namespace troupe
