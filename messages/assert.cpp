#include "messages/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace troupe {

void assertion_failed(const char* condition, const char* file, int line, std::string values) {
  std::fprintf(stderr, "troupe: bug: %s does not hold at %s:%d:%s\n", condition, file, line,
               values.c_str());
  std::abort();
}

}  // namespace troupe
