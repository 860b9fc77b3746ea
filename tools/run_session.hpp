// run_session: one run in this process, from the launcher to the report: the embedded default,
// without a daemon.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "actors/requests.hpp"
#include "actors/run_tables.hpp"
#include "messages/error.hpp"

namespace troupe {

struct run_options {
  std::vector<std::string> command;
  std::uint32_t world = 1, slots = 1;
  std::uint32_t per_host = 1;  ///< ranks of one host; divides the world
  std::string cuda = "auto";   ///< auto, cpu or real: what cuda means to ranks
  std::string device;          ///< of the host device, as TROUPE_DEVICE has it; empty: none
  std::uint32_t devices = 0;   ///< of a host; 0: eight, or one a rank
  std::string nccl_order = "communicator";  ///< or stream: what orders NCCL's messages
  std::uint64_t tensor_bytes_max = 0;       ///< what a rank's tensors hold at most; 0: anything
  bool once = false;  ///< the command is executed once, and starts the ranks itself
  std::string trace;  ///< path; empty: none (and no journal)
  std::uint64_t memory_bytes{}, spill_bytes{};  ///< payload pools
  std::string spill_folder;
  bool output_to_stderr = false;  ///< the program's own output (--json -)
  bool progress = true;
  std::string semantics = "asked";  ///< asked, gloo, nccl or mpi: whose rules groups follow
  std::uint64_t eager_bytes = 0;    ///< of sends that complete before their recv
  nanos warn_after = std::chrono::minutes{1};  ///< of ranks that wait, with nothing happening
};

/// Runs it to its end. An error: it could not begin (nothing is left behind); everything later is
/// the report's outcome.
result<job_report> run_here(const run_options& options, run_tables& tables);

}  // namespace troupe
