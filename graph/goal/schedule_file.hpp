// schedule_file: a GOAL file of either kind, told apart by how it begins.
#pragma once

#include <string>
#include <vector>

#include "graph/goal/schedule.hpp"
#include "graph/goal/text_reader.hpp"

namespace troupe::goal {

/// What it looks like: a binary's magic, or text that begins with num_ranks (comments may come
/// first). Nothing: something else, or a file that cannot be read.
enum class guess { text, binary, other };
guess guess_kind(const input_file& file);

/// errc::bad_input as the readers say it. A file that looks like nothing is read as text, whose
/// reader says what it should begin with.
result<schedule> read_schedule(const std::string& path,
                               std::vector<text_problem>* problems = nullptr);

}  // namespace troupe::goal
