// condition_variable: std::condition_variable::wait(std::unique_lock<std::mutex>&), which libraries
// import from libstdc++.
//
// A wait within a watched future is a wait for its operation. When it ends without the slot (a
// spurious wake-up, or the answer came while another thread had used the slot up), the slot is
// taken back with the future's mutex released: a thread that holds the slot may want that mutex.
// The caller sees a spurious wake-up, which it must expect anyway. Other waits pass through;
// wait_for and wait_until are inline in libstdc++ and not seen.
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>

#include "interpose/preload/hooks.hpp"

namespace {

constexpr const char* symbol = "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE";

/// std::unique_lock<std::mutex> as libstdc++ lays it out.
struct held_lock {
  pthread_mutex_t* mutex;
  bool owns;
};

using wait_function = void (*)(void*, held_lock*);

/// libstdc++ may have been loaded by dlopen, outside the scope in which RTLD_NEXT looks.
wait_function find_real_wait() {
  void* library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
  void* scope = library ? library : RTLD_NEXT;
  void* found = dlvsym(scope, symbol, "GLIBCXX_3.4.30");
  if (!found) found = dlsym(scope, symbol);
  if (!found) {
    static const char text[] =
        "troupe: std::condition_variable::wait is called without libstdc++\n";
    [[maybe_unused]] const auto written = write(2, text, sizeof text - 1);
    abort();
  }
  return reinterpret_cast<wait_function>(found);
}

void real_wait(void* condition, held_lock* lock) {
  static std::atomic<wait_function> real{nullptr};
  auto wait = real.load(std::memory_order_relaxed);
  if (!wait) real.store(wait = find_real_wait(), std::memory_order_relaxed);
  wait(condition, lock);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void
_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(void* condition, held_lock* lock) {
  const auto* hooks = troupe::preload::hooks();
  const auto operation = hooks ? hooks->watched(condition) : 0;
  if (operation == 0) return real_wait(condition, lock);
  hooks->wait_begins(operation);
  real_wait(condition, lock);
  if (!hooks->wait_ended(operation)) return;
  pthread_mutex_unlock(lock->mutex);
  hooks->retake_slot();
  pthread_mutex_lock(lock->mutex);
}
