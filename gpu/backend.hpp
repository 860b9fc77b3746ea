// backend: where bytes live and sums are done. One interface; host_backend today, the CUDA backend
// beside it later.
//
// CAF-free and thread-safe: jobs of a worker_pool call it at the same time on disjoint buffers.
// Not here: in which order members are folded (reduction_tree.hpp); who leases memory
// (actors/buffer_pool.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "messages/collective.hpp"
#include "messages/error.hpp"
#include "messages/units.hpp"

namespace troupe {

/// Averages of floats narrower than f32 are NCCL's: sums of fractions, for a sum may be too large
/// for the type where the average is not. Wider floats are summed and then divided, which rounds
/// less.
constexpr bool multiplies_first(reduction reduce, element_type type) {
  return reduce == reduction::avg
         && (type == element_type::f16 || type == element_type::bf16 || type == element_type::f8e4m3
             || type == element_type::f8e5m2);
}

class backend {
 public:
  virtual ~backend() = default;

  virtual std::string_view name() const = 0;

  /// A buffer of this backend's memory, aligned to 64 bytes, not cleared. errc::no_resources when
  /// there is none.
  virtual result<std::span<std::byte>> allocate(bytes size) = 0;
  /// Gives back what allocate() returned.
  virtual void release(std::span<std::byte> buffer) = 0;

  /// Copies from.size() bytes; `to` is as long, the two do not overlap.
  virtual void copy(std::span<std::byte> to, std::span<const std::byte> from) = 0;

  /// into[i] = into[i] (op) from[0][i] (op) from[1][i] …, left to right. All spans have equal
  /// length, a multiple of the element size. Floats narrower than f32 are accumulated in f32 over
  /// one call and rounded to nearest even once, at its end (eight-bit ones saturate: float8.hpp).
  /// Integer sums wrap (two's complement); boolean sum and max are "or", prod and min are "and".
  /// min and max of floats give NaN if any member is NaN. avg folds as sum; where
  /// `multiplies_first`, into[i] and all from[k][i] are what members of a group of `parts` handed
  /// in, and each is multiplied by 1 / parts (in f32) before it is added; `into` is even without
  /// sources. Other sums have one part. Precondition: exists(reduce, type).
  virtual void fold(element_type type, reduction reduce, std::span<std::byte> into,
                    std::span<const std::span<const std::byte>> from, std::uint32_t parts = 1) = 0;

  /// The last step of a reduction over `members`: avg divides (integers truncate towards zero)
  /// except where it multiplies first, the others do nothing.
  virtual void finish(element_type type, reduction reduce, std::span<std::byte> into,
                      std::uint32_t members) = 0;
};

std::unique_ptr<backend> make_host_backend();

}  // namespace troupe
