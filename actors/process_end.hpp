// process_end: what the way a rank's process ended says about the run.
#pragma once

#include <cstdint>

#include "messages/error.hpp"
#include "messages/ids.hpp"

namespace troupe {

/// errc::none for exit status 0. A non-zero exit and a signal that a program brings upon itself
/// (SIGSEGV, SIGABRT, …) are program_failed; a signal from outside (SIGKILL, SIGTERM, …) makes it a
/// lost_rank. The context says it in words.
error judge_end(rank_id rank, std::int32_t wait_status);

}  // namespace troupe
