// binary_writer: a schedule as a GOAL binary: to the byte txt2bin's where the values fit.
#pragma once

#include "graph/buffered_output.hpp"
#include "graph/goal/schedule.hpp"

namespace troupe::goal {

/// Do cpus and nics fit in 8 bits and tags in 32, as txt2bin's format has them?
bool fits_txt2bin(const schedule& what);

/// txt2bin's format if everything fits, else our wider one. What the disk says is `to`'s status.
void write_binary(const schedule& from, buffered_output& to);

}  // namespace troupe::goal
