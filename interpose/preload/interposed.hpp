// interposed: what the interposed functions share: the real function, and the section of a sleep.
#pragma once

#include <dlfcn.h>
#include <errno.h>

#include <atomic>

#include "interpose/preload/hooks.hpp"

#define TROUPE_INTERPOSED extern "C" __attribute__((visibility("default")))

namespace troupe::preload {

/// libc's own function of this name; `version` where an older one goes by the same name.
template <class Function>
Function next(std::atomic<Function>& kept, const char* name, const char* version = nullptr) {
  auto function = kept.load(std::memory_order_relaxed);
  if (function) return function;
  void* found = version ? dlvsym(RTLD_NEXT, name, version) : nullptr;
  if (!found) found = dlsym(RTLD_NEXT, name);
  kept.store(function = reinterpret_cast<Function>(found), std::memory_order_relaxed);
  return function;
}

/// The rank gives its slot up meanwhile, if no other thread of it runs, and comes back with it.
/// errno stays what libc said.
class sleep_section {
 public:
  explicit sleep_section(bool worth_a_slot) {
    const auto* hooks = worth_a_slot ? preload::hooks() : nullptr;
    if (hooks && hooks->sleep_begins()) hooks_ = hooks;
  }
  sleep_section(const sleep_section&) = delete;
  ~sleep_section() {
    if (!hooks_) return;
    const int kept = errno;
    hooks_->sleep_ended();
    errno = kept;
  }

 private:
  const troupe_blocking_hooks* hooks_ = nullptr;
};

}  // namespace troupe::preload
