#include "interpose/cudart/device_profile.hpp"

#include "messages/units.hpp"

namespace troupe {
namespace {

constexpr std::uint64_t context_bytes = 512 * MiB;

}  // namespace

std::span<const device_profile> device_profiles() {
  static const device_profile profiles[] = {
      {"h100", "NVIDIA H100 80GB HBM3", 9, 0, 84942979072, context_bytes, 132, 1980000, 2619000,
       5120, 52428800, 233472, 232448, 3350, 55, 67'000},
      {"h200", "NVIDIA H200", 9, 0, 150121545728, context_bytes, 132, 1980000, 3201000, 6144,
       62914560, 233472, 232448, 4800, 55, 67'000},
      {"a100", "NVIDIA A100-SXM4-80GB", 8, 0, 85197979648, context_bytes, 108, 1410000, 1593000,
       5120, 41943040, 167936, 166912, 2039, 25, 19'500},
      {"b200", "NVIDIA B200", 10, 0, 191514017792, context_bytes, 148, 1965000, 3996000, 7680,
       132644864, 233472, 232448, 8000, 55, 75'000},
  };
  return profiles;
}

const device_profile* find_device_profile(std::string_view name) {
  for (const auto& profile : device_profiles())
    if (name == profile.name) return &profile;
  return nullptr;
}

std::string device_profile_names() {
  std::string all;
  for (const auto& profile : device_profiles()) all += (all.empty() ? "" : ", ") + profile.name;
  return all;
}

}  // namespace troupe
