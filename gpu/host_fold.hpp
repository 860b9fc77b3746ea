// host_fold: the arithmetic of host_backend; what it promises is backend::fold's and
// backend::finish's contract.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "messages/collective.hpp"

namespace troupe {

void host_fold(element_type type, reduction reduce, std::span<std::byte> into,
               std::span<const std::span<const std::byte>> from, std::uint32_t parts);
void host_finish(element_type type, reduction reduce, std::span<std::byte> into,
                 std::uint32_t members);

}  // namespace troupe
