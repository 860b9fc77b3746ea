#include "tools/rank_list.hpp"

#include <catch2/catch.hpp>

using namespace troupe;

TEST_CASE("ranks are read as a person writes them, ascending, each once") {
  auto listed = [](const char* text) {
    std::vector<std::uint32_t> ranks;
    auto parsed = parse_rank_list(text, 16);
    REQUIRE(parsed);
    for (auto rank : *parsed) ranks.push_back(rank.value);
    return ranks;
  };
  using numbers = std::vector<std::uint32_t>;
  CHECK(listed("3") == numbers{3});
  CHECK(listed("0-3,8") == numbers{0, 1, 2, 3, 8});
  CHECK(listed("8,2-4,3,15-15") == numbers{2, 3, 4, 8, 15});
  CHECK(all_ranks(3) == std::vector<rank_id>{{0}, {1}, {2}});
}

TEST_CASE("what is no list of this world's ranks is refused") {
  for (const char* text : {"", ",", "1,", ",1", "a", "1-", "-1", "1--2", "1 2", "3-2", "16", "0-16",
                           "4294967296", "+1"})
    CHECK(parse_rank_list(text, 16).error().code == errc::usage);
}
