// hooks: what this library was told to call (blocking_hooks.h).
//
// The whole library is loaded into every process of a run, shells included: no C++ library, no
// memory of its own, nothing done before somebody registers.
#pragma once

#include "interpose/preload/blocking_hooks.h"

namespace troupe::preload {

/// Null: nobody registered.
const troupe_blocking_hooks* hooks();

}  // namespace troupe::preload
