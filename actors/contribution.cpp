#include "actors/contribution.hpp"

#include <fmt/format.h>

namespace troupe {

result<contribution> contribution::accept(payload bytes, std::uint64_t size, payload_pools& pools) {
  contribution made;
  std::uint64_t given = 0;
  if (auto* in_frame = std::get_if<inline_bytes>(&bytes)) {
    given = in_frame->size();
    made.held_ = std::make_shared<inline_bytes>(std::move(*in_frame));
    made.view_ = std::as_writable_bytes(std::span{*made.held_});
  } else if (auto* where = std::get_if<region>(&bytes)) {
    TROUPE_TRY(view, pools.bytes_of(*where));
    given = where->length;
    made.region_ = *where;
    made.in_region_ = true;
    made.view_ = view;
  }
  if (given != size)
    return error{errc::bad_input,
                 fmt::format("the call hands in {} bytes, its payload has {}", size, given)};
  return made;
}

payload contribution::slice(std::uint64_t begin, std::uint64_t length) const {
  if (in_region_) return region{region_.pool, region_.offset + begin, length, region_.header};
  const auto from = held_->begin() + static_cast<std::ptrdiff_t>(begin);
  return inline_bytes{from, from + static_cast<std::ptrdiff_t>(length)};
}

void contribution::set_readers(std::uint32_t readers, payload_pools& pools) const {
  if (in_region_) pools.header_of(region_).state.store(readers, std::memory_order_release);
}

}  // namespace troupe
