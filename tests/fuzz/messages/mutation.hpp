// mutation: seeded damage to valid bytes, and the largest piece of memory that anybody asked for
// meanwhile.
//
// TROUPE_FUZZ_SEED=N repeats a run from its printed seed; TROUPE_FUZZ_SECONDS=N makes it longer
// (default 5).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace troupe::fuzz {

/// Kept by counted_allocation.cpp.
inline std::atomic<std::size_t> largest_allocation = 0;

using bytes = std::vector<std::uint8_t>;

inline std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

class mutator {
 public:
  mutator() : seed(number_from("TROUPE_FUZZ_SEED", 20)), random_(seed) {}

  const std::uint64_t seed;

  std::uint64_t below(std::uint64_t end) { return random_() % end; }

  /// One to eight kinds of damage, one after the other.
  bytes damaged(bytes input, const std::vector<bytes>& others) {
    for (auto n = 1 + below(8); n > 0; --n) damage_once(input, others);
    return input;
  }

 private:
  void damage_once(bytes& input, const std::vector<bytes>& others) {
    if (input.empty()) return;
    auto at = below(input.size());
    switch (below(8)) {
      case 0:
        input[at] ^= static_cast<std::uint8_t>(1u << below(8));
        break;
      case 1:
        input[at] = static_cast<std::uint8_t>(random_());
        break;
      case 2: {  // a length, offset or enum that is far too large, or 0
        const std::uint64_t values[] = {0, ~0ull, 0x7fffffff, 0x1fffffff, 0xff, 1u << 29};
        auto value = values[below(std::size(values))];
        std::memcpy(input.data() + at, &value,
                    std::min<std::size_t>(1 + below(8), input.size() - at));
        break;
      }
      case 3:
        input.resize(at);
        break;
      case 4:
        input.insert(input.begin() + static_cast<long>(at), below(16),
                     static_cast<std::uint8_t>(random_()));
        break;
      case 5: {  // a piece of another input, in its place
        auto& other = others[below(others.size())];
        auto size = std::min(other.size(), input.size());
        if (size == 0) break;
        auto begin = below(size);
        std::memcpy(input.data() + begin, other.data() + begin, below(size - begin + 1));
        break;
      }
      case 6: {  // words change places: pointers point elsewhere
        if (input.size() < 16) break;
        auto a = below(input.size() / 8) * 8, b = below(input.size() / 8) * 8;
        for (int i = 0; i < 8; ++i)
          std::swap(input[a + static_cast<unsigned>(i)], input[b + static_cast<unsigned>(i)]);
        break;
      }
      default: {  // a small change of a word
        auto word = at / 8 * 8;
        input[word] = static_cast<std::uint8_t>(input[word] + below(5) - 2);
      }
    }
  }

  std::mt19937_64 random_;
};

/// True until the test's time is over, but for some rounds however slow the machine.
class time_limit {
 public:
  bool over() {
    return ++asked_ > rounds_least
           && std::chrono::steady_clock::now() - start_ >= std::chrono::seconds(seconds_);
  }

 private:
  static constexpr std::uint64_t rounds_least = 500;
  std::uint64_t asked_ = 0;
  std::uint64_t seconds_ = number_from("TROUPE_FUZZ_SECONDS", 5);
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace troupe::fuzz
