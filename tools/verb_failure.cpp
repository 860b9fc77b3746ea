#include "tools/verb_failure.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/json_output.hpp"

namespace troupe {

int complain(const char* verb, errc code, const std::string& text) {
  std::fprintf(stderr, "troupe %s: %s\n", verb, text.c_str());
  return exit_status(code);
}

int fail(const char* verb, const error& why, const std::string& json) {
  const nlohmann::ordered_json all{
      {"outcome", to_string(why.code)},
      {"findings",
       nlohmann::ordered_json::array({{{"kind", to_string(why.code)}, {"text", to_string(why)}}})}};
  if (auto written = write_json(json, all); !written)
    complain(verb, written.error().code, written.error().context);
  return complain(verb, why.code, to_string(why));
}

}  // namespace troupe
