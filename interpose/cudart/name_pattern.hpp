// name_pattern: does a kernel's name fit a pattern, in which a '*' stands for any characters, none
// too? Names of kernels, mangled or not, are otherwise taken as they are written ('*' in a
// demangled name fits a '*' of the pattern).
#pragma once

#include <string_view>

namespace troupe {

inline bool fits_pattern(std::string_view name, std::string_view pattern) {
  // Only the last star need ever be tried again.
  std::size_t at = 0, in = 0, star = std::string_view::npos, resumed = 0;
  while (at < name.size()) {
    if (in < pattern.size() && pattern[in] == '*') {
      star = in++;
      resumed = at;
    } else if (in < pattern.size() && pattern[in] == name[at]) {
      ++in;
      ++at;
    } else if (star != std::string_view::npos) {
      in = star + 1;
      at = ++resumed;
    } else {
      return false;
    }
  }
  while (in < pattern.size() && pattern[in] == '*') ++in;
  return in == pattern.size();
}

}  // namespace troupe
