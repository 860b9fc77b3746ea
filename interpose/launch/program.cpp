#include "interpose/launch/program.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace troupe {
namespace {

bool executable_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)
         && ::access(path.c_str(), X_OK) == 0;
}

bool is_python(const std::string& name) {
  const auto base = name.substr(name.rfind('/') + 1);
  return base.starts_with("python") && std::all_of(base.begin() + 6, base.end(), [](char c) {
           return (c >= '0' && c <= '9') || c == '.';
         });
}

}  // namespace

result<std::string> find_program(const std::string& name) {
  if (name.empty()) return error{errc::bad_input, "the program's name is empty"};
  if (name.find('/') != std::string::npos) {
    if (executable_file(name)) return name;
    struct stat status {};
    const char* why = ::stat(name.c_str(), &status) != 0 ? std::strerror(errno)
                      : S_ISREG(status.st_mode)          ? "it is not executable"
                                                         : "it is not a file";
    return error{errc::bad_input, "cannot run " + name + ": " + why};
  }
  const char* path = std::getenv("PATH");
  const std::string folders = path ? path : "/usr/local/bin:/usr/bin:/bin";
  for (std::size_t begin = 0; begin <= folders.size();) {
    const auto end = std::min(folders.find(':', begin), folders.size());
    const auto folder = folders.substr(begin, end - begin);
    const auto candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (executable_file(candidate)) return candidate;
    begin = end + 1;
  }
  return error{errc::bad_input,
               "cannot run " + name + ": no folder of PATH (" + folders + ") has it"};
}

std::optional<python_program> as_python(const std::vector<std::string>& command) {
  if (command.empty() || !is_python(command.front())) return std::nullopt;
  python_program found;
  for (std::size_t n = 1; n < command.size(); ++n) {
    const auto& word = command[n];
    if (word == "-u" || word == "-B" || word == "-O" || word == "-OO" || word == "-s") {
      found.options.push_back(word);
    } else if ((word == "-W" || word == "-X") && n + 1 < command.size()) {
      found.options.push_back(word);
      found.options.push_back(command[++n]);
    } else if (word == "-m" && n + 1 < command.size()) {
      found.arguments.assign(command.begin() + static_cast<std::ptrdiff_t>(n), command.end());
      return found;
    } else if (word.starts_with("-")) {
      return std::nullopt;  // -c, -i, - and all others: executed as they are
    } else {
      struct stat status {};
      if (::stat(word.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
      found.arguments.assign(command.begin() + static_cast<std::ptrdiff_t>(n), command.end());
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace troupe
