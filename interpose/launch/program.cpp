#include "interpose/launch/program.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace troupe {
namespace {

namespace fs = std::filesystem;

bool is_executable_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

/// python, python3, python3.11
bool is_python(std::string_view name) {
  if (!name.starts_with("python")) return false;
  return name.find_first_not_of("0123456789.", 6) == std::string_view::npos;
}

/// An interpreter option after which a script can still be forked: switches that leave the module
/// search and the script's place alone. -S and -I would hide what ranks share, -c and - are no
/// script.
bool is_simple_switch(std::string_view option) {
  return option.size() > 1 && option[0] == '-'
         && option.find_first_not_of("uBOEsbdvq", 1) == std::string_view::npos;
}

std::size_t find_script(const std::vector<std::string>& arguments) {
  for (std::size_t at = 1; at < arguments.size(); ++at) {
    const std::string_view option = arguments[at];
    std::error_code ignored;
    if (option == "-m") return at + 1 < arguments.size() ? at : 0;
    if (!option.starts_with("-")) return fs::is_regular_file(option, ignored) ? at : 0;
    if (option == "-W" || option == "-X")
      ++at;
    else if (!is_simple_switch(option) && !option.starts_with("-W") && !option.starts_with("-X"))
      return 0;
  }
  return 0;
}

}  // namespace

result<program> find_program(const std::vector<std::string>& command) {
  const auto& name = command.front();
  program found{{}, command, 0};
  if (name.find('/') != std::string::npos) {
    std::error_code ignored;
    if (!is_executable_file(name))
      return error{errc::bad_input,
                   name
                       + (fs::exists(name, ignored) ? " is not an executable file"
                                                    : ": there is no such program")};
    found.path = name;
  } else {
    const char* path = std::getenv("PATH");
    const std::string folders = path ? path : "/usr/local/bin:/usr/bin:/bin";
    for (std::size_t begin = 0; begin <= folders.size() && found.path.empty();) {
      const auto end = std::min(folders.find(':', begin), folders.size());
      const auto folder = folders.substr(begin, end - begin);
      const auto candidate = fs::path(folder.empty() ? "." : folder) / name;
      if (!name.empty() && is_executable_file(candidate)) found.path = candidate.string();
      begin = end + 1;
    }
    if (found.path.empty())
      return error{errc::bad_input, "no program \"" + name + "\" in PATH (" + folders + ")"};
  }
  if (is_python(fs::path(name).filename().string())) found.script_at = find_script(command);
  return found;
}

}  // namespace troupe
