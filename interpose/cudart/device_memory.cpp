#include "interpose/cudart/device_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>

namespace troupe {
namespace {

constexpr std::uint64_t page = device_memory::page_bytes;

std::uint64_t rounded_up(std::uint64_t size, std::uint64_t to) { return (size + to - 1) / to * to; }

std::uint64_t aligned_small(std::uint64_t size) {
  return rounded_up(size, device_memory::small_alignment);
}

}  // namespace

device_memory::device_memory(std::uint64_t total, std::uint64_t reserved)
    : total_(total), free_pages_((total - std::min(total, reserved)) / page) {}

device_memory::~device_memory() {
  for (const auto& [at, size] : allocations_)
    if (size > small_bytes_max) ::munmap(at, rounded_up(size, page));
  for (const auto& [at, what] : shared_) ::munmap(at, page);
}

result<void*> device_memory::allocate(std::uint64_t size) {
  const std::lock_guard hold(lock_);
  void* at = nullptr;
  if (size <= small_bytes_max) {
    TROUPE_TRY(found, allocate_small(size));
    at = found;
  } else {
    if (size > total_)
      return error{errc::no_resources, "more than the device's " + std::to_string(total_)};
    TROUPE_TRY(found, map_pages(rounded_up(size, page) / page));
    at = found;
  }
  allocations_.emplace(static_cast<std::byte*>(at), size);
  held_ += size;
  if (held_ > peak_) {
    peak_ = held_;
    fragmented_at_peak_ = pages_in_use_ * page - held_;
  }
  return at;
}

/// The first gap of the first shared page that is long enough, else a new page.
result<void*> device_memory::allocate_small(std::uint64_t size) {
  const auto length = aligned_small(size);
  const auto take = [&](std::byte* at, shared_page& from, auto gap) -> void* {
    const auto [offset, whole] = *gap;
    from.gaps.erase(gap);
    if (whole > length) from.gaps.emplace(offset + length, whole - length);
    from.used += length;
    return at + offset;
  };
  for (auto& [at, what] : shared_)
    for (auto gap = what.gaps.begin(); gap != what.gaps.end(); ++gap)
      if (gap->second >= length) return take(at, what, gap);
  TROUPE_TRY(fresh, map_pages(1));
  auto& what = shared_[fresh];
  what.gaps.emplace(0, page);
  return take(fresh, what, what.gaps.begin());
}

bool device_memory::release(void* address) {
  const std::lock_guard hold(lock_);
  auto* const at = static_cast<std::byte*>(address);
  const auto found = allocations_.find(at);
  if (found == allocations_.end()) return false;
  const auto size = found->second;
  allocations_.erase(found);
  held_ -= size;
  if (size > small_bytes_max) {
    unmap_pages(at, rounded_up(size, page) / page);
    return true;
  }
  const auto in = std::prev(shared_.upper_bound(at));
  auto& gaps = in->second.gaps;
  auto offset = static_cast<std::uint64_t>(at - in->first);
  auto length = aligned_small(size);
  if ((in->second.used -= length) == 0) {
    unmap_pages(in->first, 1);
    shared_.erase(in);
    return true;
  }
  auto next = gaps.lower_bound(offset);
  if (next != gaps.end() && next->first == offset + length) {
    length += next->second;
    next = gaps.erase(next);
  }
  if (next != gaps.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += length;
      return true;
    }
  }
  gaps.emplace(offset, length);
  return true;
}

/// Aligned to a page: what is beyond is given back at once.
result<std::byte*> device_memory::map_pages(std::uint64_t pages) {
  if (pages > free_pages_)
    return error{errc::no_resources, std::to_string(free_pages_ * page) + " bytes are free"};
  const auto length = pages * page;
  void* mapped = ::mmap(nullptr, length + page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    return error{errc::no_resources,
                 std::string("the machine has no addresses left: ") + std::strerror(errno)};
  auto* const begin = static_cast<std::byte*>(mapped);
  const auto over = reinterpret_cast<std::uintptr_t>(begin) % page;
  const auto skipped = over ? page - over : 0;
  if (skipped) ::munmap(begin, skipped);
  ::munmap(begin + skipped + length, page - skipped);
  free_pages_ -= pages;
  pages_in_use_ += pages;
  return begin + skipped;
}

void device_memory::unmap_pages(std::byte* at, std::uint64_t pages) {
  ::munmap(at, pages * page);
  free_pages_ += pages;
  pages_in_use_ -= pages;
}

std::uint64_t device_memory::free_bytes() const {
  const std::lock_guard hold(lock_);
  return free_pages_ * page;
}
std::uint64_t device_memory::held_bytes() const {
  const std::lock_guard hold(lock_);
  return held_;
}
std::uint64_t device_memory::peak_bytes() const {
  const std::lock_guard hold(lock_);
  return peak_;
}
std::uint64_t device_memory::fragmented_at_peak_bytes() const {
  const std::lock_guard hold(lock_);
  return fragmented_at_peak_;
}
std::uint64_t device_memory::fragmented_bytes() const {
  const std::lock_guard hold(lock_);
  return pages_in_use_ * page - held_;
}

}  // namespace troupe
