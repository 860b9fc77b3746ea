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
  std::multimap<const void*, std::uint64_t> operation_of;
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
    watched().operation_of.emplace(&future, operation);
  }
  troupe_watch_future(operation, &future, &future + 1);
}

void watch_child(const c10::ivalue::Future& parent, const c10::ivalue::Future& child) {
  if (child.completed()) return;
  for (auto operation : watched_operations(parent)) watch_future(operation, child);
  if (!child.completed()) return;
  std::lock_guard lock(watched().mutex);  // it completed before it was watched
  watched().operation_of.erase(&child);
}

std::vector<std::uint64_t> watched_operations(const c10::ivalue::Future& future) {
  std::lock_guard lock(watched().mutex);
  std::vector<std::uint64_t> found;
  auto [from, to] = watched().operation_of.equal_range(&future);
  for (; from != to; ++from) found.push_back(from->second);
  return found;
}

void forget_watched(std::uint64_t operation) {
  std::lock_guard lock(watched().mutex);
  std::erase_if(watched().operation_of,
                [&](const auto& entry) { return entry.second == operation; });
}

}  // namespace troupe
