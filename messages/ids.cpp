#include "messages/ids.hpp"

namespace troupe {

communicator_id make_communicator_id(std::span<const rank_id> members, std::uint32_t ordinal) {
  std::uint64_t hash = 14695981039346656037ull;
  auto mix = [&](std::uint32_t word) {
    for (int byte = 0; byte < 4; ++byte, word >>= 8)
      hash = (hash ^ (word & 0xff)) * 1099511628211ull;
  };
  mix(static_cast<std::uint32_t>(members.size()));
  for (auto member : members) mix(member.value);
  mix(ordinal);
  return {hash ? hash : 1};
}

}  // namespace troupe
