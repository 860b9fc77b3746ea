#include "interpose/client/region_allocator.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <map>
#include <memory>
#include <random>

#include "messages/units.hpp"

using namespace troupe;

namespace {

struct free_memory {
  void operator()(std::byte* memory) const { std::free(memory); }
};

struct pool {
  explicit pool(std::uint64_t size)
      : size(size), memory(static_cast<std::byte*>(std::aligned_alloc(64, size))) {}
  region_header& header_of(const region& where) {
    return *reinterpret_cast<region_header*>(memory.get() + where.header);
  }
  std::uint64_t size;
  std::unique_ptr<std::byte, free_memory> memory;
};

}  // namespace

TEST_CASE("an extent is a power of two, at least 1 MiB and twice the need") {
  CHECK(region_allocator::extent_size_for(1) == MiB);
  CHECK(region_allocator::extent_size_for(512 * KiB) == 2 * MiB);
  CHECK(region_allocator::extent_size_for(16 * MiB) == 64 * MiB);
}

TEST_CASE("a region is aligned, posted and not handed out twice until its header says so") {
  pool memory(4096);
  region_allocator regions;
  REQUIRE_FALSE(regions.take(1));
  regions.add_extent({0, 0, 4096, 0}, {memory.memory.get(), memory.size});
  auto first = regions.take(4000);
  REQUIRE(first);
  CHECK(first->where.offset % 64 == 0);
  CHECK(first->where.header + 64 == first->where.offset);
  CHECK(memory.header_of(first->where).state == region_header::posted);
  CHECK_FALSE(regions.take(1));
  memory.header_of(first->where).state = 2;
  CHECK_FALSE(regions.take(1));
  memory.header_of(first->where).state = 0;
  CHECK(regions.take(1));
}

TEST_CASE("free neighbours are joined") {
  pool memory(64 * KiB);
  region_allocator regions;
  regions.add_extent({0, 0, memory.size, 0}, {memory.memory.get(), memory.size});
  std::vector<taken_region> small;
  while (auto taken = regions.take(1024)) small.push_back(*taken);
  REQUIRE(small.size() > 50);
  for (auto& taken : small) memory.header_of(taken.where).state = 0;
  CHECK(regions.take(60 * KiB));
}

TEST_CASE("regions in use never overlap and keep their bytes") {
  const auto seed = GENERATE(1u, 2u, 3u);
  std::mt19937 random(seed);
  pool memory(256 * KiB);
  region_allocator regions;
  // An extent need not begin aligned in the pool.
  regions.add_extent({0, 8, 256 * KiB - 8, 0}, {memory.memory.get() + 8, 256 * KiB - 8});
  std::map<std::uint64_t, taken_region> used;
  int taken_n = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (!used.empty() && random() % 2) {
      auto at = std::next(used.begin(), random() % used.size());
      for (auto byte : at->second.bytes)
        if (byte != static_cast<std::byte>(at->first % 251)) FAIL("overwritten at seed " << seed);
      memory.header_of(at->second.where).state = 0;
      used.erase(at);
    } else if (auto taken = regions.take(1 + random() % 9000)) {
      ++taken_n;
      const auto mark = static_cast<std::byte>(taken->where.offset % 251);
      std::fill(taken->bytes.begin(), taken->bytes.end(), mark);
      REQUIRE(used.emplace(taken->where.offset, *taken).second);
      REQUIRE(taken->bytes.data() == memory.memory.get() + taken->where.offset);
    }
  }
  CHECK(taken_n > 5000);
}
