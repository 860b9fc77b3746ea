#include "tools/json_output.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace troupe {
namespace {

error cannot_write(const std::string& where, int why) {
  const bool full = why == ENOSPC || why == EDQUOT || why == EFBIG || why == ENOMEM || why == EMFILE
                    || why == ENFILE || why == EIO;
  return {
      full ? errc::no_resources : errc::bad_input,
      "cannot write " + (where == "-" ? "to standard output" : where) + ": " + std::strerror(why)};
}

bool is_same_file(const std::string& one, const std::string& other) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  return fs::absolute(one, ignored).lexically_normal()
             == fs::absolute(other, ignored).lexically_normal()
         || fs::equivalent(one, other, ignored);
}

}  // namespace

result<void> check_json_place(const std::string& where, const std::vector<std::string>& own_files) {
  if (where.empty() || where == "-") return {};
  for (const auto& own : own_files)
    if (is_same_file(where, own))
      return error{errc::usage, "--json " + where + " would overwrite " + own};
  std::FILE* file = std::fopen(where.c_str(), "a");
  if (!file) return cannot_write(where, errno);
  std::fclose(file);
  return {};
}

result<void> check_place(const char* option, const std::string& where,
                         const std::vector<std::string>& own_files) {
  if (where.empty()) return {};
  for (const auto& own : own_files)
    if (is_same_file(where, own))
      return error{errc::usage, std::string(option) + " " + where + " would overwrite " + own};
  const auto folder = std::filesystem::path(where).parent_path();
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK) != 0) return cannot_write(where, errno);
  return {};
}

result<void> write_json(const std::string& where, const nlohmann::ordered_json& what) {
  if (where.empty()) return {};
  const auto text =
      what.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  std::FILE* file = where == "-" ? stdout : std::fopen(where.c_str(), "w");
  if (!file) return cannot_write(where, errno);
  const bool written =
      std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
  const int code = errno;
  if (file != stdout) std::fclose(file);
  if (!written) return cannot_write(where, code);
  return {};
}

}  // namespace troupe
