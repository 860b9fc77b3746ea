// payload_pools_test: leases never overlap, spill when memory is used up, and what a rank names
// outside of them is refused.
#include "actors/payload_pools.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstring>

using namespace troupe;
using Catch::Matchers::Contains;

namespace {

constexpr std::uint64_t page = 4096;

std::unique_ptr<payload_pools> open_pools(payload_pools::options how) {
  if (how.spill_folder.empty()) how.spill_folder = "/tmp";
  auto pools = payload_pools::open(how);
  REQUIRE(pools);
  return std::move(*pools);
}

region sliced(const region& extent, std::uint64_t begin, std::uint64_t length) {
  return {extent.pool, extent.offset + begin, length, extent.offset};
}

}  // namespace

TEST_CASE("leases are whole pages that do not overlap each other or the ranks' pages") {
  auto pools = open_pools({.world = 100, .memory_bytes = 16 * page});
  std::uint64_t end = pools->page_offset_of({99}) + sizeof(rank_page);
  for (std::uint64_t size : {std::uint64_t{1}, page, page + 1}) {
    auto extent = pools->lease(size);
    REQUIRE(extent);
    CHECK(extent->pool == 0);
    CHECK(extent->offset % page == 0);
    CHECK(extent->offset >= end);
    CHECK(extent->length >= size);
    CHECK(extent->length < size + page);
    end = extent->offset + extent->length;
  }
}

TEST_CASE("each rank has a page of its own, at first without a slot") {
  auto pools = open_pools({.world = 65, .memory_bytes = page});
  for (std::uint32_t rank = 0; rank < 65; ++rank) {
    CHECK(pools->page_of({rank}).holds_slot == 0);
    pools->page_of({rank}).holds_slot = rank;
  }
  for (std::uint32_t rank = 0; rank < 65; ++rank) CHECK(pools->page_of({rank}).holds_slot == rank);
}

TEST_CASE("what does not fit into memory spills, what fits still comes from memory") {
  auto pools = open_pools({.world = 1, .memory_bytes = 4 * page, .spill_bytes = 8 * page});
  CHECK(pools->lease(3 * page)->pool == 0);
  CHECK(pools->lease(2 * page)->pool == 1);
  CHECK(pools->lease(page)->pool == 0);
  auto last = pools->lease(6 * page);
  REQUIRE(last);
  CHECK(last->pool == 1);
  CHECK(last->offset == 2 * page);
}

TEST_CASE("a size that no file has is refused and not taken for a small one") {
  const auto absurd = ~std::uint64_t{0};  // rounded up to whole pages it would be 0
  for (auto how :
       {payload_pools::options{.world = 1, .memory_bytes = absurd},
        payload_pools::options{.world = 1, .memory_bytes = page, .spill_bytes = absurd}}) {
    how.spill_folder = "/tmp";
    const auto pools = payload_pools::open(how);
    REQUIRE_FALSE(pools);
    CHECK(pools.error().code == errc::usage);
    CHECK_THAT(pools.error().context, Contains("18446744073709551615 bytes"));
  }
}

TEST_CASE("used-up pools refuse, and say how much is leased") {
  auto pools = open_pools({.world = 1, .memory_bytes = 2 * page, .spill_bytes = page});
  REQUIRE(pools->lease(2 * page));
  REQUIRE(pools->lease(page));
  auto refused = pools->lease(1);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::no_resources);
  CHECK_THAT(refused.error().context, Contains("used up"));
  for (std::uint64_t size :
       {std::uint64_t{0}, 100 * page, ~std::uint64_t{0}, ~std::uint64_t{0} - 5}) {
    auto absurd = pools->lease(size);
    REQUIRE_FALSE(absurd);
    CHECK(absurd.error().code == errc::no_resources);
  }
}

TEST_CASE("without a spill file there is one pool") {
  auto pools = open_pools({.world = 1, .memory_bytes = page});
  CHECK(pools->descriptors().size() == 1);
  CHECK(pools->sizes() == std::vector<std::uint64_t>{2 * page});
  REQUIRE(pools->lease(page));
  CHECK_FALSE(pools->lease(page));
}

TEST_CASE("a spilled extent takes up disk before anyone writes to it") {
  auto pools = open_pools({.world = 1, .memory_bytes = page, .spill_bytes = 64 * page});
  auto extent = pools->lease(16 * page);
  REQUIRE(extent);
  REQUIRE(extent->pool == 1);
  struct stat before {
  }, after{};
  REQUIRE(::fstat(pools->descriptors()[1], &before) == 0);
  REQUIRE(pools->allocate_spilled(*extent));
  REQUIRE(::fstat(pools->descriptors()[1], &after) == 0);
  CHECK(after.st_blocks - before.st_blocks >= static_cast<blkcnt_t>(16 * page / 512));
  auto bytes = pools->bytes_of(sliced(*extent, 64, 100));
  REQUIRE(bytes);
  std::memset(bytes->data(), 1, bytes->size());
}

TEST_CASE("a folder that cannot hold a spill file is an error") {
  auto pools = payload_pools::open(
      {.world = 1, .memory_bytes = page, .spill_bytes = page, .spill_folder = "/nowhere/at/all"});
  REQUIRE_FALSE(pools);
  CHECK(pools.error().code == errc::no_resources);
  CHECK_THAT(pools.error().context, Contains("/nowhere/at/all"));
}

TEST_CASE("a region inside a lease is its bytes, and its header is where it says") {
  auto pools = open_pools({.world = 1, .memory_bytes = 4 * page});
  auto extent = *pools->lease(2 * page);
  auto whole = pools->bytes_of(sliced(extent, 64, 2 * page - 64));
  REQUIRE(whole);
  CHECK(whole->size() == 2 * page - 64);
  std::memset(whole->data(), 0, whole->size());
  (*whole)[500] = std::byte{7};
  auto slice = pools->bytes_of(sliced(extent, 64 + 500, 1));
  REQUIRE(slice);
  CHECK((*slice)[0] == std::byte{7});
  pools->header_of(sliced(extent, 64, 1)).state = 3;
  CHECK(reinterpret_cast<region_header*>(whole->data() - 64)->state == 3);
  CHECK(pools->bytes_of(sliced(extent, 2 * page, 0)));
}

TEST_CASE("hostile regions are refused") {
  auto pools = open_pools({.world = 1, .memory_bytes = 8 * page, .spill_bytes = page});
  const auto extent = *pools->lease(page);
  const auto at = extent.offset;
  const auto huge = ~std::uint64_t{0};
  const std::pair<const char*, region> hostile[] = {
      {"beyond what is leased", {0, at + 64, page, at}},
      {"far beyond", {0, huge - 8, 4, at}},
      {"longer than all memory", {0, at + 64, huge, at}},
      {"wrapping round", {0, at + 64, huge - at, at}},
      {"of no pool", {2, at + 64, 8, at}},
      {"of a pool of which nothing is leased", {1, 64, 8, 0}},
      {"with its header inside", {0, at + 64, 8, at + 64}},
      {"with its header behind", {0, at + 64, 8, at + 128}},
      {"with its header too near", {0, at + 96, 8, at + 64}},
      {"with a crooked header", {0, at + 128, 8, at + 32}},
      {"with its header far away", {0, at + 64, 8, huge - 63}},
      {"in the ranks' pages", {0, 64, 8, 0}},
      {"with its header in the ranks' pages", {0, at + 64, 8, 0}},
  };
  for (const auto& [what, where] : hostile) {
    INFO("a region " << what);
    auto refused = pools->bytes_of(where);
    CHECK_FALSE(refused);
    if (!refused) CHECK(refused.error().code == errc::bad_input);
  }
}
