// contribution_test: bytes handed in are exactly as many as the call says, and inside the pools.
#include "actors/contribution.hpp"

#include <catch2/catch.hpp>
#include <cstring>

using namespace troupe;

namespace {

std::unique_ptr<payload_pools> open_pools() {
  auto pools = payload_pools::open({.world = 1, .memory_bytes = 1 << 20});
  REQUIRE(pools);
  return std::move(*pools);
}

}  // namespace

TEST_CASE("bytes in the frame are taken over and cut into slices") {
  auto pools = open_pools();
  auto made = contribution::accept(inline_bytes{1, 2, 3, 4}, 4, *pools);
  REQUIRE(made);
  CHECK(made->view().size() == 4);
  made->view()[1] = std::byte{9};
  CHECK(std::get<inline_bytes>(made->slice(1, 2)) == inline_bytes{9, 3});
  made->set_readers(5, *pools);  // nothing to count
}

TEST_CASE("bytes in a pool stay where they are, and a slice keeps the region's header") {
  auto pools = open_pools();
  const auto extent = *pools->lease(1000);
  const region where{0, extent.offset + 64, 100, extent.offset};
  auto made = contribution::accept(where, 100, *pools);
  REQUIRE(made);
  CHECK(made->view().data() == pools->bytes_of(where)->data());
  CHECK(std::get<region>(made->slice(10, 20)) == region{0, where.offset + 10, 20, where.header});
  made->set_readers(3, *pools);
  CHECK(pools->header_of(where).state == 3);
}

TEST_CASE("too many and too few bytes are refused, wherever they lie") {
  auto pools = open_pools();
  const auto extent = *pools->lease(1000);
  const payload given[] = {payload{}, inline_bytes(8),
                           region{0, extent.offset + 64, 8, extent.offset}};
  for (const auto& bytes : given) {
    const std::uint64_t size = bytes.index() == 0 ? 0 : 8;
    CHECK(contribution::accept(bytes, size, *pools));
    for (std::uint64_t wrong : {size + 1, std::uint64_t{7}, ~std::uint64_t{0}}) {
      auto refused = contribution::accept(bytes, wrong, *pools);
      REQUIRE_FALSE(refused);
      CHECK(refused.error().code == errc::bad_input);
    }
  }
}

TEST_CASE("a region outside the pools is refused, whatever its size") {
  auto pools = open_pools();
  auto refused = contribution::accept(region{0, 1 << 19, 8, 1 << 18}, 8, *pools);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::bad_input);
}
