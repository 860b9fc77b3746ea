#include "interpose/torch/watched_futures.hpp"

#include <dlfcn.h>

#include <cstring>
#include <map>
#include <mutex>

#include "interpose/client/troupe_client.h"

namespace troupe {

namespace {

struct watch_table {
  std::mutex mutex;
  std::map<const void*, std::uint64_t> operation_of;
};

watch_table& watched() {
  static auto* table = new watch_table;  // outlives every thread
  return *table;
}

/// Who does std::condition_variable::wait resolve to: the standard library, or the library
/// preloaded before it?
bool is_interposed() {
  void* wait = dlsym(RTLD_DEFAULT, "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");
  Dl_info found{};
  return wait && dladdr(wait, &found) && !std::strstr(found.dli_fname, "libstdc++");
}

}  // namespace

bool waits_on_futures_are_seen() {
  static const bool seen = is_interposed();
  return seen;
}

void watch_future(std::uint64_t operation, const c10::ivalue::Future& future) {
  {
    std::lock_guard lock(watched().mutex);
    watched().operation_of[&future] = operation;
  }
  troupe_watch_future(operation, &future, &future + 1);
}

void watch_child(const c10::ivalue::Future& parent, const c10::ivalue::Future& child) {
  std::uint64_t operation = 0;
  {
    std::lock_guard lock(watched().mutex);
    auto known = watched().operation_of.find(&parent);
    if (known == watched().operation_of.end()) return;
    operation = known->second;
  }
  if (!child.completed()) watch_future(operation, child);
}

void forget_watched(std::uint64_t operation) {
  std::lock_guard lock(watched().mutex);
  std::erase_if(watched().operation_of,
                [&](const auto& entry) { return entry.second == operation; });
}

}  // namespace troupe
