// rank_list: ranks as a person writes them: "0-3,8".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "messages/error.hpp"
#include "messages/ids.hpp"

namespace troupe {

std::vector<rank_id> all_ranks(std::uint32_t world);
/// Ascending, each once. errc::usage: not of this form, or a rank that a world of this size lacks.
result<std::vector<rank_id>> parse_rank_list(const std::string& text, std::uint32_t world);

}  // namespace troupe
