// assert: a broken invariant of ours ends the process with the values at hand. Always on.
#pragma once

#include <sstream>
#include <string>

namespace troupe {

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line,
                                   std::string values);

template <class... Values>
std::string describe_values(const Values&... values) {
  std::ostringstream out;
  ((out << ' ' << values), ...);
  return out.str();
}

}  // namespace troupe

// TROUPE_ASSERT(condition, values...): the values (anything with operator<<) are printed when it
// fails.
#define TROUPE_ASSERT(condition, ...)                                     \
  do {                                                                    \
    if (!(condition)) [[unlikely]]                                        \
      ::troupe::assertion_failed(#condition, __FILE__, __LINE__,          \
                                 ::troupe::describe_values(__VA_ARGS__)); \
  } while (false)
