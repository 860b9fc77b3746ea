#include "tools/nccl_variables.hpp"

#include <unistd.h>

namespace troupe {

std::vector<std::pair<std::string, std::string>> nccl_variables() {
  std::vector<std::pair<std::string, std::string>> found;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string entry = *each;
    const auto end = entry.find('=');
    if (entry.starts_with("NCCL_") && end != std::string::npos)
      found.emplace_back(entry.substr(0, end), entry.substr(end + 1));
  }
  return found;
}

}  // namespace troupe
