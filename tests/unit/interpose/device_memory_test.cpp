// device_memory: capacity to the page, out of memory at the right byte, and what is given back.

#include "interpose/cudart/device_memory.hpp"
#include "interpose/cudart/device_profile.hpp"
#include "interpose/cudart/memory_map.hpp"

#include <catch2/catch.hpp>

#include <cstring>
#include <vector>

#include "messages/units.hpp"

namespace troupe {
namespace {

constexpr auto page = device_memory::page_bytes;

void* must_allocate(device_memory& memory, std::uint64_t size) {
  auto at = memory.allocate(size);
  REQUIRE(at);
  return *at;
}

TEST_CASE("a device of 80 GB fails at the right byte, on any machine") {
  for (const auto& profile : device_profiles()) {
    INFO(profile.name);
    device_memory memory(profile.memory_bytes, profile.context_bytes);
    const auto free = memory.free_bytes();
    CHECK(free == (profile.memory_bytes - profile.context_bytes) / page * page);
    CHECK_FALSE(memory.allocate(free + 1));
    auto* all = static_cast<char*>(must_allocate(memory, free));
    CHECK(memory.free_bytes() == 0);
    CHECK(memory.allocate(1).error().code == errc::no_resources);
    all[0] = 1;
    all[free - 1] = 2;  // what is touched exists
    CHECK(memory.release(all));
    CHECK(memory.free_bytes() == free);
    CHECK(memory.peak_bytes() == free);
  }
}

TEST_CASE("small allocations share pages, large ones have their own") {
  device_memory memory(10 * page, 0);
  auto* first = static_cast<char*>(must_allocate(memory, 1));
  auto* second = static_cast<char*>(must_allocate(memory, 513));
  auto* third = static_cast<char*>(must_allocate(memory, 512));
  CHECK(second == first + 512);
  CHECK(third == second + 1024);
  CHECK(memory.free_bytes() == 9 * page);
  must_allocate(memory, MiB - 1);
  CHECK(memory.free_bytes() == 9 * page);
  auto* large = must_allocate(memory, MiB);
  CHECK(memory.free_bytes() == 8 * page);
  CHECK(reinterpret_cast<std::uintptr_t>(large) % page == 0);
  must_allocate(memory, page + 1);
  CHECK(memory.free_bytes() == 6 * page);
  CHECK(memory.held_bytes() == 1 + 513 + 512 + MiB - 1 + MiB + page + 1);
  CHECK(memory.fragmented_bytes() == 4 * page - memory.held_bytes());
  const auto at_peak = memory.fragmented_bytes();
  CHECK(memory.release(second));
  CHECK(memory.fragmented_bytes() == at_peak + 513);
  CHECK(memory.fragmented_at_peak_bytes() == at_peak);
}

TEST_CASE(
    "what is released is found again, also next to itself, and a page that is empty is given "
    "back") {
  device_memory memory(3 * page, 0);
  std::vector<void*> parts;
  for (std::uint64_t n = 0; n < 4; ++n) parts.push_back(must_allocate(memory, page / 4));
  CHECK(memory.free_bytes() == 2 * page);
  CHECK(memory.release(parts[1]));
  CHECK(memory.release(parts[2]));
  CHECK(must_allocate(memory, page / 2 - 512) == parts[1]);
  CHECK_FALSE(memory.release(parts[2]));
  CHECK_FALSE(memory.release(static_cast<char*>(parts[0]) + 1));
  for (auto* part : {parts[3], parts[0], parts[1]}) CHECK(memory.release(part));
  CHECK(memory.free_bytes() == 3 * page);
  CHECK(memory.held_bytes() == 0);
}

TEST_CASE(
    "holes too small for what is asked for are fragmentation, as a caching allocator meets it") {
  device_memory memory(8 * page, 0);
  std::vector<void*> parts;
  for (int n = 0; n < 8; ++n) parts.push_back(must_allocate(memory, page));
  for (int n = 0; n < 8; n += 2) CHECK(memory.release(parts[static_cast<std::size_t>(n)]));
  // A device maps any free pages together: four holes are one allocation.
  must_allocate(memory, 4 * page);
  CHECK(memory.free_bytes() == 0);
}

TEST_CASE("memory is zero when it is new") {
  device_memory memory(4 * page, 0);
  auto* at = static_cast<char*>(must_allocate(memory, page));
  std::memset(at, 0x55, page);
  CHECK(memory.release(at));
  at = static_cast<char*>(must_allocate(memory, page));
  CHECK(std::count(at, at + page, 0) == static_cast<std::ptrdiff_t>(page));
}

TEST_CASE("an address is told by the range that it lies in") {
  memory_map map;
  std::vector<std::byte> bytes(100);
  CHECK(map.add({bytes.data() + 10, 20, memory_kind::pinned, 0, 3}));
  CHECK(map.add({bytes.data() + 30, 20, memory_kind::device, 1, 0}));
  CHECK_FALSE(map.add({bytes.data() + 29, 1, memory_kind::device, 0, 0}));
  CHECK_FALSE(map.add({bytes.data() + 5, 6, memory_kind::device, 0, 0}));
  CHECK_FALSE(map.find(bytes.data() + 9));
  CHECK(map.find(bytes.data() + 29)->kind == memory_kind::pinned);
  CHECK(map.find(bytes.data() + 30)->device == 1);
  CHECK_FALSE(map.find(bytes.data() + 50));
  CHECK_FALSE(map.take(bytes.data() + 10, memory_kind::device));
  CHECK(map.take(bytes.data() + 10, memory_kind::pinned)->flags == 3);
  CHECK_FALSE(map.find(bytes.data() + 10));
}

TEST_CASE("profiles are found by name alone") {
  CHECK(find_device_profile("h100")->product_name == std::string("NVIDIA H100 80GB HBM3"));
  CHECK(find_device_profile("H100") == nullptr);
  CHECK(find_device_profile("") == nullptr);
  CHECK(device_profile_names() == "h100, h200, a100, b200");
}

}  // namespace
}  // namespace troupe
