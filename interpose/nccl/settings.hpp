// settings: what the environment says about communicators (NCCL_*, TROUPE_NCCL_*).
#pragma once

namespace troupe {

struct nccl_settings {
  bool blocking = true;  ///< NCCL_COMM_BLOCKING, where the program does not say
  /// TROUPE_NCCL_ORDER=stream: messages are ordered by their streams alone; without, as NCCL does
  /// it, a communicator's operations are done in the order they were called, whatever streams they
  /// are on.
  bool messages_by_stream = false;
};

/// Read once; NCCL's variables that mean nothing here are then named once.
const nccl_settings& settings();

}  // namespace troupe
