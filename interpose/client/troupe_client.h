/* troupe_client: the rank's side of the wire as a C interface, so that no C++ ABI stands between us
 * and anybody's libraries.
 *
 * One connection a process. Thread-safe. Functions return 0 or a positive troupe::errc number;
 * troupe_error() then has the sentence (per thread). A forked child is not the rank: there
 * troupe_connected() is 0 and every call fails politely. A process whose runner is gone ends with
 * status 70. Outside a wait callbacks (troupe_done) run only in a thread of ours, which
 * troupe_watch_future starts: troupe_issue runs none.
 */
#ifndef TROUPE_CLIENT_H
#define TROUPE_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#define TROUPE_API __attribute__((visibility("default")))

typedef struct {
  const void* data;
  uint64_t size;
} troupe_input;

typedef struct {
  void* data;
  uint64_t size;
} troupe_output;

/* One call, fields as in messages/collective.hpp (op, type, reduction: the enums' numbers). */
typedef struct {
  uint8_t op, type, reduction, batched;
  uint64_t count;
  int32_t root, tag;
  const uint64_t *send_counts, *recv_counts; /* group size each, or NULL */
} troupe_call;

/* Called once when the operation's result lies in its outputs (status 0) or will never (text says
 * why), by whichever thread read the answer, without locks of ours held. source: the sender's group
 * rank of a recv, else -1. */
typedef void (*troupe_done)(void* argument, int status, const char* text, int32_t source);

/* Connects as rank RANK of the run that TROUPE_SOCKET names, and takes the first slot (blocks until
 * granted). 0 when connected (now or already); usage when TROUPE_SOCKET is not set or this process
 * is a child of a rank. */
TROUPE_API int troupe_connect(void);
TROUPE_API int troupe_connected(void);
TROUPE_API uint32_t troupe_rank(void);
TROUPE_API uint32_t troupe_world(void); /* processes */
/* This rank's page (rank_page of messages/region_header.hpp), mapped until the process ends; NULL
 * when not connected. */
TROUPE_API void* troupe_rank_page(void);
/* The program ends in order (call at exit). */
TROUPE_API void troupe_leave(void);
TROUPE_API const char* troupe_error(void);

/* The n-th call with exactly these members opens the n-th communicator of theirs. */
TROUPE_API int troupe_open_communicator(const uint32_t* members, uint32_t size, uint8_t semantics,
                                        const char* name, uint64_t* communicator);

/* The same, when all members have agreed on an ordinal that no other communicator of theirs has;
 * opened by the COMPANION-th further rank of this process (0: by the rank that connected). Each of
 * them is a rank of its own, from its first communicator on; what one calls all wait for. Each gets
 * its own *communicator of the same one. */
TROUPE_API int troupe_open_communicator_as(const uint32_t* members, uint32_t size, uint32_t ordinal,
                                           uint8_t semantics, const char* name, uint32_t companion,
                                           uint64_t* communicator);
/* The number of the COMPANION-th further rank of the process that connected as RANK. */
TROUPE_API uint32_t troupe_companion(uint32_t rank, uint32_t companion);

/* Gives the communicator up, for all its members (the caller is named): what is not done on it
 * fails (lost_rank), and what is called later. */
TROUPE_API int troupe_abort_communicator(uint64_t communicator);

/* Posts an operation; the inputs are copied before it returns, the outputs must stay valid until
 * `done` was called (the result's bytes are laid into them one after the other). call_site:
 * "train.py:42 in step" or NULL. done may be NULL. operation NULL: a synchronous call; returns the
 * operation's status once it is done, as troupe_wait would, and tells the runner in one write that
 * it waits. */
TROUPE_API int troupe_issue(uint64_t communicator, const troupe_call* call,
                            const troupe_input* inputs, uint32_t input_n,
                            const troupe_output* outputs, uint32_t output_n, const char* call_site,
                            troupe_done done, void* argument, uint64_t* operation);
/* Blocks until the operation is done; gives the slot up meanwhile when every calling thread is
 * blocked. Returns the operation's status. timeout_ns 0: none; timed_out leaves the operation as it
 * is. */
TROUPE_API int troupe_wait(uint64_t operation, uint64_t timeout_ns);
/* *complete = is it done? When not, other ranks get a turn first. */
TROUPE_API int troupe_test(uint64_t operation, int* complete);
/* The operation's completion will be observed through a future: from now on a thread of ours reads
 * answers as they come, and a wait in std::condition_variable within [from, to) counts as blocked
 * on it. */
TROUPE_API int troupe_watch_future(uint64_t operation, const void* from, const void* to);

/* From now on a thread of ours reads answers as they come, and a thread of this process that waits
 * for another one counts as blocked on the operation. */
TROUPE_API int troupe_follow(uint64_t operation);
/* The operation's result is wanted no more: its outputs are not touched when this returns, nor
 * later. *dropped: `done` is not called either; else it has been. */
TROUPE_API int troupe_abandon(uint64_t operation, int* dropped);

/* marker_kind of graph/execution_graph.hpp: backward_end 1, optimizer_step 2, iteration 3. */
TROUPE_API int troupe_mark(uint8_t kind);
/* The program has asked for a copy between a device and the host, which lasts so long there. */
TROUPE_API int troupe_copied(uint64_t size, uint64_t duration_ns);
/* Lets others run first. */
TROUPE_API int troupe_yield(void);
/* The calling thread takes part in the slot from now on, as one that has waited does: while it runs
 * the rank is not blocked. Returns with the slot. */
TROUPE_API int troupe_enter(void);

/* The run's key-value store; get and wait block (yielding) until the keys are there or timeout_ns
 * (0: none) passed. Returned values are malloc'ed; free() them. */
TROUPE_API int troupe_store_set(const char* key, const void* value, uint64_t size);
TROUPE_API int troupe_store_get(const char* key, uint64_t timeout_ns, void** value, uint64_t* size);
TROUPE_API int troupe_store_add(const char* key, int64_t amount, int64_t* sum);
TROUPE_API int troupe_store_check(const char* const* keys, uint32_t n, int* present);
TROUPE_API int troupe_store_wait(const char* const* keys, uint32_t n, uint64_t timeout_ns);
TROUPE_API int troupe_store_delete(const char* key, int* deleted);
TROUPE_API int troupe_store_compare_set(const char* key, const void* expected,
                                        uint64_t expected_size, const void* desired,
                                        uint64_t desired_size, void** value, uint64_t* size);
TROUPE_API int troupe_store_append(const char* key, const void* value, uint64_t size);
/* Keys that begin with the prefix: how many, and which, each with a zero byte behind it. */
TROUPE_API int troupe_store_count(const char* prefix, int64_t* keys);
TROUPE_API int troupe_store_list(const char* prefix, void** names, uint64_t* size);
/* Queues, first in, first out; pop blocks for an element like get if it shall wait. An empty queue
 * is not there. */
TROUPE_API int troupe_store_push(const char* queue, const void* value, uint64_t size);
TROUPE_API int troupe_store_pop(const char* queue, int wait, uint64_t timeout_ns, void** value,
                                uint64_t* size, int* came);
TROUPE_API int troupe_store_queue_length(const char* queue, int64_t* length);

/* For launchers in other languages: the calling process gets SIGKILL when its parent dies (also if
 * it just has). */
TROUPE_API int troupe_die_with_parent(void);
/* Likewise: writes one control frame (messages/control.capnp) to a descriptor. */
TROUPE_API int troupe_report_started(int descriptor, uint32_t rank, int32_t pid);
TROUPE_API int troupe_report_ended(int descriptor, uint32_t rank, int32_t pid, int32_t wait_status,
                                   uint64_t cpu_ns, uint64_t peak_bytes);
/* Ranks cannot be started: why, as a troupe::errc number and a sentence. */
TROUPE_API int troupe_report_failed(int descriptor, int status, const char* text);

#ifdef __cplusplus
}
#endif
#endif
