/* troupe_device: what libnccl.so.2 of the host device asks of its libcudart.so.13: work on streams
 * that is answered from outside. A C interface; both come from one build.
 */
#ifndef TROUPE_DEVICE_H
#define TROUPE_DEVICE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct troupe_device_node troupe_device_node;
typedef struct troupe_device_order troupe_device_order;

typedef struct {
  /* Called when the streams get to it: once, or when it is captured once a launch; by any thread,
   * without locks. It may call troupe_device_finish itself. */
  void (*start)(void* argument, troupe_device_node* node);
  /* Nobody will call start again. */
  void (*release)(void* argument);
  void* argument;
  troupe_device_order* order; /* or NULL */
} troupe_device_work;

/* The calling thread's device; a negative cudaError_t when there is none. */
int troupe_device_current(void);
/* Which of its host's devices it is (CUDA_VISIBLE_DEVICES renumbers them); as above. */
int troupe_device_on_host(int device);
/* Queues the work on all these streams at once; they go on after it. A cudaError_t, after which
 * release was called. */
int troupe_device_queue(void* const* streams, int count, const troupe_device_work* work);
/* It is done. Once a start, by any thread. */
void troupe_device_finish(troupe_device_node* node);

/* Work of one order is done one after another, whatever streams it is on. awaited: the program has
 * waited for the first COUNT pieces of it, or found them done; called by the thread that did, never
 * after the order is dropped. */
troupe_device_order* troupe_device_make_order(void (*awaited)(void* argument, uint64_t count),
                                              void* argument);
void troupe_device_drop_order(troupe_device_order* order);
/* Blocks until all of the order's work that is queued is done. */
void troupe_device_wait_for(troupe_device_order* order);
/* Is all of it done? When not, other ranks get a turn first. */
int troupe_device_is_idle(troupe_device_order* order);

#ifdef __cplusplus
}
#endif
#endif
