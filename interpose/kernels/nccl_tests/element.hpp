// element: chance for one element of a vector that a verification fills: draws by number, the same
// wherever they are made.
//
// Not here: what is made of them (reductions.hpp).
#pragma once

#include <cstdint>

namespace troupe::nccl_tests {

class element {
 public:
  element(std::uint64_t seed, std::int64_t index)
      : base_(mixed(seed * 0xd1342543de82ef95u + mixed(static_cast<std::uint64_t>(index)))) {}

  /// The element's own draws are below `of_a_member`.
  std::uint64_t draw(std::uint64_t which) const {
    return mixed(base_ + (which + 1) * 0x9e3779b97f4a7c15u);
  }
  /// From 0 to `last`, both included.
  std::uint64_t draw_to(std::uint64_t which, std::uint64_t last) const {
    return last == ~std::uint64_t{0} ? draw(which) : draw(which) % (last + 1);
  }
  bool flip(std::uint64_t which) const { return draw(which) >> 63; }

  // A reduction's draws: what they are for is the reduction's to say, which member's is not.
  static constexpr std::uint64_t of_a_member = 1u << 8, of_a_split = std::uint64_t{1} << 32;
  std::uint64_t draw_of(std::uint32_t member) const { return draw(of_a_member + member); }

  /// `whole` units among members 0 to members-1: this one's. They are split in halves of the
  /// members, again and again.
  std::uint64_t share(std::uint64_t whole, std::uint32_t member, std::uint32_t members) const {
    std::uint32_t begin = 0, end = members;
    for (std::uint64_t at = 1; end - begin > 1 && whole > 0;) {
      const auto middle = begin + (end - begin) / 2;
      const auto left = draw_to(of_a_split + at, whole);
      at *= 2;
      if (member < middle) {
        end = middle;
        whole = left;
      } else {
        begin = middle;
        whole -= left;
        ++at;
      }
    }
    return whole;
  }

 private:
  /// The last step of SplitMix64 (G. Steele, D. Lea, C. Flood: Fast Splittable Pseudorandom Number
  /// Generators, OOPSLA 2014).
  static std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  std::uint64_t base_;
};

}  // namespace troupe::nccl_tests
