// binary_reader: a GOAL binary, txt2bin's or our wider one, as a schedule.
//
// No count in a file is believed: every place, index and number is held against the file and the
// rank before it is used, ranks' sections may not overlap, and the counts that are told twice must
// agree.
#pragma once

#include "graph/goal/schedule.hpp"
#include "graph/input_file.hpp"

namespace troupe::goal {

/// Does the file begin as a GOAL binary does (also as one that LogGOPSim destroyed)?
bool looks_binary(const input_file& file);

/// errc::bad_input names file, rank, operation and what is wrong.
result<schedule> read_binary(const input_file& from);

}  // namespace troupe::goal
