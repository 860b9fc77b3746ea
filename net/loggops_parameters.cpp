#include "net/loggops_parameters.hpp"

#include <utility>

namespace troupe {
namespace {

loggops_parameters set_of(std::uint64_t latency, std::uint64_t overhead, std::uint64_t gap,
                          double gap_per_byte, std::uint64_t eager_max) {
  loggops_parameters made;
  made.latency_ns = latency;
  made.overhead_ns = overhead;
  made.gap_ns = gap;
  made.gap_per_byte_ns = gap_per_byte;
  made.eager_bytes_max = eager_max;
  return made;
}

const std::pair<const char*, loggops_parameters> presets[] = {
    {"atlahs-ai", set_of(3700, 200, 5, 0.04, 0)},
    {"atlahs-hpc", set_of(3000, 8000, 0, 0.18, 256000)},
    {"atlahs-hpc-paper", set_of(3000, 6000, 0, 0.18, 256000)},
};

}  // namespace

std::optional<loggops_parameters> loggops_preset(std::string_view name) {
  for (const auto& [known, parameters] : presets)
    if (name == known) return parameters;
  return std::nullopt;
}

std::vector<std::string> loggops_preset_names() {
  std::vector<std::string> names;
  for (const auto& [name, parameters] : presets) names.emplace_back(name);
  return names;
}

}  // namespace troupe
