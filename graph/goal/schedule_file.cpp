#include "graph/goal/schedule_file.hpp"

#include "graph/goal/binary_reader.hpp"

namespace troupe::goal {

guess guess_kind(const input_file& file) {
  if (looks_binary(file)) return guess::binary;
  text_scanner scanner(file);
  scanner.skip_lines();
  return scanner.take_word() == "num_ranks" ? guess::text : guess::other;
}

result<schedule> read_schedule(const std::string& path, std::vector<text_problem>* problems) {
  TROUPE_TRY(file, input_file::open(path));
  return looks_binary(file) ? read_binary(file) : read_text(file, problems);
}

}  // namespace troupe::goal
