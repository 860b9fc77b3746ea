#include "tools/goal_input.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "graph/goal/schedule_file.hpp"

namespace troupe {

bool is_goal_file(const std::string& path) {
  const auto file = input_file::open(path);
  return file && goal::guess_kind(*file) != goal::guess::other;
}

result<goal::schedule> read_goal(const std::string& verb, const std::string& path,
                                 nlohmann::ordered_json& findings) {
  std::vector<goal::text_problem> problems;
  auto read = goal::read_schedule(path, &problems);
  if (read) return read;
  const auto tell = [&](const std::string& text) {
    std::fprintf(stderr, "troupe %s: %s\n", verb.c_str(), text.c_str());
    findings.push_back({{"kind", to_string(read.error().code)}, {"text", text}});
  };
  for (const auto& each : problems)
    tell(path + ":" + std::to_string(each.where.line) + ":" + std::to_string(each.where.column)
         + ": " + each.text);
  if (problems.empty()) tell(to_string(read.error()));
  return read;
}

}  // namespace troupe
