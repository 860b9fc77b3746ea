// process_end: what the way a rank's process ended says about the run.
#pragma once

#include <cstdint>
#include <string>

#include "messages/error.hpp"
#include "messages/ids.hpp"
#include "messages/region_header.hpp"

namespace troupe {

/// errc::none for exit status 0. A non-zero exit and a signal that a program brings upon itself
/// (SIGSEGV, SIGABRT, …) are program_failed; a signal from outside (SIGKILL, SIGTERM, …) makes it a
/// lost_rank. The context says it in words.
error judge_end(rank_id rank, std::int32_t wait_status);
/// What a failed rank's page says of an allocation that it was refused, to follow how it ended;
/// empty when there was none.
std::string tell_refusal(const rank_page& page);

}  // namespace troupe
