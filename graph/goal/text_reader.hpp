// text_reader: a GOAL text as a schedule; the grammar is docs/goal_format.md's.
//
// Memory is that of the schedule and of one rank's labels and dependencies; a number in the text
// reserves nothing. After an error in a statement the rest of the text is still checked.
#pragma once

#include <string>
#include <vector>

#include "graph/goal/schedule.hpp"
#include "graph/goal/text_scanner.hpp"
#include "graph/input_file.hpp"

namespace troupe::goal {

struct text_problem {
  text_position where;
  std::string text;  ///< "expected a number of ns, found 'abc'"
};

constexpr std::size_t text_problems_max = 20;  ///< then reading ends

/// errc::bad_input: `problems` (if given) has what is wrong, up to text_problems_max; the context
/// is the first, "FILE:3:5: expected …", and how many more there are.
result<schedule> read_text(const input_file& from, std::vector<text_problem>* problems = nullptr);

}  // namespace troupe::goal
