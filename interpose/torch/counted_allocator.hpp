// counted_allocator: torch's allocator of CPU memory, with an account of what is out.
//
// Counted is what tensors ask for, to the byte; not what shares another's memory (from_numpy,
// shared memory, mapped files), nor scratch memory of libraries, nor what was allocated before.
#pragma once

#include <cstdint>

#include "interpose/torch/tensor_account.hpp"

namespace troupe {

tensor_account& tensors();

/// Puts the allocator in place, once, and returns its address. `capacity`: bytes, 0: none.
/// `for_cuda`: the program takes the CPU for a GPU, and is refused in the words it knows from
/// there. Throws where another allocator than torch's own is in place.
std::uintptr_t count_tensors(std::uint64_t capacity, bool for_cuda);

}  // namespace troupe
