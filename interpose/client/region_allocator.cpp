#include "interpose/client/region_allocator.hpp"

#include <algorithm>
#include <bit>
#include <new>

#include "messages/units.hpp"

namespace troupe {
namespace {

constexpr std::uint64_t alignment = sizeof(region_header);
constexpr std::uint64_t extent_bytes_max = std::uint64_t{1} << 62;

constexpr std::uint64_t rounded_up(std::uint64_t n) {
  return (n + alignment - 1) / alignment * alignment;
}

}  // namespace

void region_allocator::add_extent(const region& where, std::span<std::byte> memory) {
  const auto skipped = rounded_up(where.offset) - where.offset;
  if (skipped + 2 * alignment > memory.size()) return;
  const auto usable = (memory.size() - skipped) / alignment * alignment;
  extent added{
      {where.pool, where.offset + skipped, usable, 0}, memory.subspan(skipped, usable), {}};
  added.blocks.push_back({0, usable});
  new (&header_at(added, added.blocks[0])) region_header{};
  extents_.push_back(std::move(added));
}

std::optional<taken_region> region_allocator::take(std::uint64_t length) {
  for (auto& candidate : extents_)
    if (auto taken = take_from(candidate, length)) return taken;
  return std::nullopt;
}

std::uint64_t region_allocator::extent_size_for(std::uint64_t length) {
  const auto need = std::min(length, extent_bytes_max / 4) + 2 * alignment;
  return std::max<std::uint64_t>(MiB, std::bit_ceil(2 * need));
}

region_header& region_allocator::header_at(const extent& in, const block& of) {
  return *reinterpret_cast<region_header*>(in.memory.data() + of.begin);
}

std::optional<taken_region> region_allocator::take_from(extent& in, std::uint64_t length) {
  if (length > in.where.length) return std::nullopt;
  const auto need = alignment + rounded_up(length);
  auto is_free = [&](const block& b) {
    return header_at(in, b).state.load(std::memory_order_acquire) == 0;
  };
  auto& blocks = in.blocks;
  for (std::size_t at = 0; at < blocks.size(); ++at) {
    if (!is_free(blocks[at])) continue;
    auto last = at + 1;
    while (last < blocks.size() && blocks[at].size < need && is_free(blocks[last]))
      blocks[at].size += blocks[last++].size;
    blocks.erase(blocks.begin() + at + 1, blocks.begin() + last);
    if (blocks[at].size < need) continue;
    if (const auto rest = blocks[at].size - need; rest >= 2 * alignment) {
      blocks[at].size = need;
      blocks.insert(blocks.begin() + at + 1, {blocks[at].begin + need, rest});
      new (&header_at(in, blocks[at + 1])) region_header{};
    }
    header_at(in, blocks[at]).state.store(region_header::posted, std::memory_order_relaxed);
    const auto payload = blocks[at].begin + alignment;
    return taken_region{
        {in.where.pool, in.where.offset + payload, length, in.where.offset + blocks[at].begin},
        in.memory.subspan(payload, length)};
  }
  return std::nullopt;
}

}  // namespace troupe
