#include "interpose/nccl/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace troupe {
namespace {

nccl_settings read() {
  nccl_settings found;
  std::string without_meaning;
  for (char** line = environ; line && *line; ++line) {
    const std::string_view text = *line;
    const auto name = text.substr(0, std::min(text.find('='), text.size()));
    if (!name.starts_with("NCCL_") || name == "NCCL_COMM_BLOCKING") continue;
    without_meaning += (without_meaning.empty() ? "" : ", ") + std::string(name);
  }
  if (const char* blocking = std::getenv("NCCL_COMM_BLOCKING"))
    found.blocking = std::string_view(blocking) != "0";
  if (const char* order = std::getenv("TROUPE_NCCL_ORDER")) {
    found.messages_by_stream = std::string_view(order) == "stream";
    if (!found.messages_by_stream && std::string_view(order) != "communicator")
      std::fprintf(stderr, "troupe: TROUPE_NCCL_ORDER is neither communicator nor stream: %s\n",
                   order);
  }
  if (!without_meaning.empty())
    std::fprintf(stderr, "troupe: these variables mean nothing on the host device: %s\n",
                 without_meaning.c_str());
  return found;
}

}  // namespace

const nccl_settings& settings() {
  static const nccl_settings once = read();
  return once;
}

}  // namespace troupe
