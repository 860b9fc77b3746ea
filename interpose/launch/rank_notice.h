/* rank_notice: what the processes of a program that starts its ranks itself tell the warden: who is
 * which rank, what it used when it left, and how a child ended. One datagram each, to the abstract
 * socket in TROUPE_NOTICES.
 *
 * Written by the client library and by libtroupe_preload.so, which has no C++ library. */
#pragma once

#include <stdint.h>

enum { troupe_notice_of_rank = 1, troupe_notice_of_end = 2, troupe_notice_of_leave = 3 };

struct troupe_rank_notice {
  uint32_t kind;
  int32_t pid;         /* of the rank, or of the child that ended */
  uint32_t rank;       /* of a rank */
  int32_t wait_status; /* of an end, as the parent was given it; the rest too */
  uint64_t cpu_ns, peak_bytes;
};

/* TROUPE_OUTPUTS is "PID:DESCRIPTOR:WORLD": a file open in the warden that has these for each rank,
 * descriptors in the warden too, and then those that the program itself was started with. */
struct troupe_output_ends {
  int32_t standard_output, standard_error;
};
