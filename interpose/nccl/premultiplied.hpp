// premultiplied: a vector times a scalar of its type, as NCCL's premulsum does it before the sum.
//
// Floats narrower than f32 are multiplied in f32 and rounded once; integers wrap.
#pragma once

#include <cstddef>
#include <span>

#include "messages/collective.hpp"

namespace troupe {

/// `to` and `from` are as long; `scalar` is one element of the type. Types that NCCL has.
void multiply(element_type type, std::span<std::byte> to, std::span<const std::byte> from,
              const void* scalar);

}  // namespace troupe
