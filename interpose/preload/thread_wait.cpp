// thread_wait: waits without a limit for another thread of the process: pthread_cond_wait,
// sem_wait, pthread_join.
//
// The thread counts as one that does not run: when the others of its process wait for
// communication, or it may itself be woken by a future's callback, the rank gives its slot up. It
// goes on with the slot. With a limit (sem_timedwait, sem_clockwait) the wait is a sleep.
// pthread_cond_timedwait is left alone: Python waits in it for its interpreter lock.
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "interpose/preload/interposed.hpp"

namespace {

using troupe::preload::next;
using troupe::preload::sleep_section;

class park_section {
 public:
  explicit park_section(const void* object) {
    const auto* hooks = troupe::preload::hooks();
    if (hooks && hooks->park_begins(object)) hooks_ = hooks;
  }
  park_section(const park_section&) = delete;
  /// The wait is over: retakes the slot, if it is gone, with the mutex (if any) released meanwhile.
  void end(pthread_mutex_t* mutex) {
    if (!hooks_ || !hooks_->park_ended()) return;
    const int kept = errno;
    if (mutex) pthread_mutex_unlock(mutex);
    hooks_->retake_slot();
    if (mutex) pthread_mutex_lock(mutex);
    errno = kept;
  }

 private:
  const troupe_blocking_hooks* hooks_ = nullptr;
};

}  // namespace

TROUPE_INTERPOSED int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  static std::atomic<int (*)(pthread_cond_t*, pthread_mutex_t*)> real{nullptr};
  park_section section(condition);
  const int status = next(real, "pthread_cond_wait", "GLIBC_2.3.2")(condition, mutex);
  section.end(mutex);
  return status;
}

TROUPE_INTERPOSED int pthread_join(pthread_t thread, void** result) {
  static std::atomic<int (*)(pthread_t, void**)> real{nullptr};
  park_section section(nullptr);
  const int status = next(real, "pthread_join", "GLIBC_2.34")(thread, result);
  section.end(nullptr);
  return status;
}

TROUPE_INTERPOSED int sem_wait(sem_t* semaphore) {
  static std::atomic<int (*)(sem_t*)> real{nullptr};
  if (sem_trywait(semaphore) == 0) return 0;
  park_section section(semaphore);
  const int status = next(real, "sem_wait", "GLIBC_2.34")(semaphore);
  section.end(nullptr);
  return status;
}

TROUPE_INTERPOSED int sem_timedwait(sem_t* semaphore, const timespec* until) {
  static std::atomic<int (*)(sem_t*, const timespec*)> real{nullptr};
  if (sem_trywait(semaphore) == 0) return 0;
  const sleep_section section(true);
  return next(real, "sem_timedwait", "GLIBC_2.34")(semaphore, until);
}

TROUPE_INTERPOSED int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  static std::atomic<int (*)(sem_t*, clockid_t, const timespec*)> real{nullptr};
  if (sem_trywait(semaphore) == 0) return 0;
  const sleep_section section(true);
  return next(real, "sem_clockwait", "GLIBC_2.34")(semaphore, clock, until);
}
