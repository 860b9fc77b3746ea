#include "tools/json_output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

namespace troupe {

result<void> write_json(const std::string& where, const nlohmann::ordered_json& what) {
  if (where.empty()) return {};
  const auto text =
      what.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  std::FILE* file = where == "-" ? stdout : std::fopen(where.c_str(), "w");
  if (!file) return error{errc::no_resources, where + ": " + std::strerror(errno)};
  const bool written =
      std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
  const int code = errno;
  if (file != stdout) std::fclose(file);
  if (!written) return error{errc::no_resources, where + ": " + std::strerror(code)};
  return {};
}

}  // namespace troupe
