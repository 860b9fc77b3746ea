// units: durations and sizes.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace troupe {

using nanos = std::chrono::nanoseconds;

struct bytes {
  std::uint64_t value{};
  friend auto operator<=>(const bytes&, const bytes&) = default;
  template <class Inspector>
  friend auto inspect(Inspector& f, bytes& x) {
    return f(x.value);
  }
};

constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;

}  // namespace troupe
