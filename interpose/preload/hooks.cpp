#include "interpose/preload/hooks.hpp"

#include <atomic>

namespace troupe::preload {
namespace {

std::atomic<const troupe_blocking_hooks*> registered{nullptr};

}  // namespace

const troupe_blocking_hooks* hooks() { return registered.load(std::memory_order_acquire); }

}  // namespace troupe::preload

void troupe_set_blocking_hooks(const troupe_blocking_hooks* hooks) {
  troupe::preload::registered.store(hooks, std::memory_order_release);
}
