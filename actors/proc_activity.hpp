// proc_activity: process_activity as Linux' /proc tells it, over all threads of a process.
#pragma once

#include <memory>

#include "actors/outside.hpp"

namespace troupe {

std::unique_ptr<process_activity> make_proc_activity();

}  // namespace troupe
