#include "tools/rank_list.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace troupe {
namespace {

bool parse_number(std::string_view text, std::uint32_t& value) {
  const auto end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return parsed.ec == std::errc{} && parsed.ptr == end;
}

}  // namespace

std::vector<rank_id> all_ranks(std::uint32_t world) {
  std::vector<rank_id> ranks;
  for (std::uint32_t rank = 0; rank < world; ++rank) ranks.push_back({rank});
  return ranks;
}

result<std::vector<rank_id>> parse_rank_list(const std::string& text, std::uint32_t world) {
  std::vector<bool> named(world);
  std::string_view rest = text;
  for (bool more = true; more;) {
    const auto comma = rest.find(',');
    const auto part = rest.substr(0, comma);
    more = comma != rest.npos;
    if (more) rest.remove_prefix(comma + 1);
    const auto dash = part.find('-');
    std::uint32_t first = 0, last = 0;
    const bool is_range = dash != part.npos;
    if (!parse_number(part.substr(0, dash), first)
        || (is_range && !parse_number(part.substr(dash + 1), last)))
      return error{errc::usage, "ranks are written like 0-3,8, not \"" + text + "\""};
    if (!is_range) last = first;
    if (first > last)
      return error{errc::usage, "the range " + std::string{part} + " ends before it begins"};
    if (last >= world)
      return error{errc::usage, "there is no rank " + std::to_string(last) + " in a world of "
                                    + std::to_string(world)};
    std::fill(named.begin() + first, named.begin() + last + 1, true);
  }
  std::vector<rank_id> ranks;
  for (std::uint32_t rank = 0; rank < world; ++rank)
    if (named[rank]) ranks.push_back({rank});
  return ranks;
}

}  // namespace troupe
