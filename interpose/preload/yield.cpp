// yield: sched_yield. A thread that calls it again and again polls for what another process does,
// as MPI does within its calls: others have the slot first.
#include <sched.h>

#include "interpose/preload/interposed.hpp"

TROUPE_INTERPOSED int sched_yield() noexcept {
  static std::atomic<int (*)()> real{nullptr};
  const auto* hooks = troupe::preload::hooks();
  if (hooks) {
    const int kept = errno;
    const bool lent = hooks->yields();
    errno = kept;
    if (lent) return 0;
  }
  return troupe::preload::next(real, "sched_yield")();
}
