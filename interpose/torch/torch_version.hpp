// torch_version: what differs between the versions of torch this folder is built against, by one
// name each.
//
// c10d_base is what a backend derives from: the process group itself before torch 2, the per-device
// backend held by it since. What a base class has in some versions of torch 2 only is defined
// without `override`: there it overrides, elsewhere nobody calls it. Not here: Python's side of the
// same (python/troupe_hook).
#pragma once

#include <torch/version.h>

#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/distributed/c10d/Backend.hpp>
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif

namespace troupe {

#if TORCH_VERSION_MAJOR >= 2
using c10d_base = c10d::Backend;
#else
using c10d_base = c10d::ProcessGroup;
#endif

}  // namespace troupe
