// llm_settings: llm_options as a person gives them: a name and a text each, the same on the command
// line and in a file.
//
// Not here: the file (tools/llm_settings_yaml.cpp); whether settings fit each other
// (llm_options.hpp).
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "graph/workload/llm_options.hpp"
#include "messages/error.hpp"

namespace troupe::workload {

struct number_setting {
  std::uint64_t& (*in)(llm_options&);
  std::uint64_t least, most;
};
struct real_setting {
  double& (*in)(llm_options&);
  double least, most;
};
struct flag_setting {
  bool& (*in)(llm_options&);
};
struct word_setting {
  const char* expected;
  bool (*set)(llm_options&, const std::string&);  ///< false: it is none of those expected
  std::string (*get)(const llm_options&);
};

struct llm_setting {
  const char *name, *what;
  std::variant<number_setting, real_setting, flag_setting, word_setting> field;
};
const std::vector<llm_setting>& llm_settings();

/// errc::usage says what was expected, or that there is no such setting.
result<void> set_setting(llm_options& of, const std::string& name, const std::string& value);

/// What a trace says of the step that is in it: texts by name.
std::vector<std::pair<std::string, std::string>> describe(const llm_options& options);

}  // namespace troupe::workload
