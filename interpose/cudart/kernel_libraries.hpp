// kernel_libraries: which libraries have host functions for kernels: those that TROUPE_KERNELS
// names, then our own, which lie beside this one.
#pragma once

#include "interpose/cudart/kernel_registry.hpp"

namespace troupe {

/// bad_input: a library that cannot be loaded, or is none of that kind.
result<void> load_kernel_libraries(kernel_registry& into);

}  // namespace troupe
