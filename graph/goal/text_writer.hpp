// text_writer: a schedule as GOAL text. Operations that take part in a dependency are labelled l1,
// l2, … by their place in the rank; a rank's dependencies stand behind its operations.
#pragma once

#include "graph/buffered_output.hpp"
#include "graph/goal/schedule.hpp"

namespace troupe::goal {

/// What the disk says is `to`'s status. Reads back equal.
void write_text(const schedule& from, buffered_output& to);

}  // namespace troupe::goal
