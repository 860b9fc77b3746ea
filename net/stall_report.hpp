// stall_report: when nothing more happens: which operations wait, for whom, and in which circle.
//
// Blocked operations wait for those they depend on, a posted recv for the sends that may still
// match it, a send that must be received for the recvs that may. Where such waits close a circle,
// that is the deadlock; a recv that nobody sends to, and a message that nobody receives, is a
// mismatch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "messages/error.hpp"
#include "net/network_model.hpp"

namespace troupe {

struct stall_finding {
  errc kind{};                          ///< deadlock or mismatch
  std::vector<std::uint32_t> ranks;     ///< ascending
  std::vector<std::string> operations;  ///< up to stall_operations_max
  std::uint64_t count{};                ///< of all such operations
  std::vector<std::string> cycle;       ///< each waits for the next, the last for the first
  std::string text;
};

constexpr std::size_t stall_operations_max = 16;  ///< that a finding lists
constexpr std::size_t stall_cycle_max = 64;       ///< of a longer circle the first ones are shown

/// After the last event. Empty when everything ended and every message was received.
std::vector<stall_finding> explain_stall(const schedule_progress& progress,
                                         const network_model& model);

}  // namespace troupe
