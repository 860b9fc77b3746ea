/* blocking_hooks: what libtroupe_preload.so calls around waits that a program makes without us:
 * sleeps of more than 1 ms, waits for descriptors, polling with sched_yield, waits for another
 * thread of the process, and among those the ones in a std::condition_variable that lies in a
 * future under watch (troupe_watch_future).
 *
 * The preload library exports troupe_set_blocking_hooks; libtroupe_client.so looks it up
 * (RTLD_DEFAULT) and registers when it connects. Its absence means that nothing is interposed.
 */
#ifndef TROUPE_BLOCKING_HOOKS_H
#define TROUPE_BLOCKING_HOOKS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  /* The operation whose future this address lies in, 0: none. Asked before every wait, by any
   * thread. */
  uint64_t (*watched)(const void* address);
  /* The calling thread is about to wait for the operation; it may hold the future's mutex. */
  void (*wait_begins)(uint64_t operation);
  /* It woke. 1: the slot is gone; retake_slot before it goes on, without the future's mutex. */
  int (*wait_ended)(uint64_t operation);
  void (*retake_slot)(void);
  /* 0: a thread that takes no part in the slot (sleep_ended is then not called). */
  int (*sleep_begins)(void);
  /* Returns with the slot. */
  void (*sleep_ended)(void);
  /* The calling thread is about to wait at this object, without a limit, for another thread of the
   * process. 0: it takes no part in the slot, or the object is the client's own (park_ended is then
   * not called). */
  int (*park_begins)(const void* object);
  /* It woke. 1: the slot is gone; retake_slot before it goes on. */
  int (*park_ended)(void);
  /* The calling thread would let others run. 1: they have, and the slot is there again. */
  int (*yields)(void);
} troupe_blocking_hooks;

/* NULL: none. The table must last. */
__attribute__((visibility("default"))) void troupe_set_blocking_hooks(
    const troupe_blocking_hooks* hooks);

#ifdef __cplusplus
}
#endif
#endif
