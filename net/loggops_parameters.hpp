// loggops_parameters: the numbers of the LogGOPS model, and what it is to do where its
// implementations differ.
//
// Source: Hoefler, Schneider, Lumsdaine, LogGOPSim (HPDC 2010); the sets are ATLAHS's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messages/error.hpp"

namespace troupe {

/// How a message is received.
enum class receiver_model : std::uint8_t {
  atlahs,     ///< the bytes' time on the way; then g and o of the receiver, one after the other
  loggopsim,  ///< the bytes' time at the receiver, beside o; g not on the message's path
  bandwidth   ///< as atlahs, but a nic takes in one message at a time
};
constexpr std::string_view receiver_names[] = {"atlahs", "loggopsim", "bandwidth"};

/// Which posted recv of its source and tag a message takes when that recv's cpu or gap is busy.
enum class matching_rule : std::uint8_t {
  requeue,  ///< ATLAHS's: the recv goes behind the others posted, and the message asks again later
  mpi       ///< the one posted first, whatever is busy
};
constexpr std::string_view matching_names[] = {"requeue", "mpi"};

struct loggops_parameters {
  std::uint64_t latency_ns = 2500;        ///< L
  std::uint64_t overhead_ns = 1500;       ///< o, of each message, at either end
  std::uint64_t gap_ns = 1000;            ///< g, between messages of a nic
  double gap_per_byte_ns = 6;             ///< G
  double overhead_per_byte_ns = 0;        ///< O
  std::uint64_t eager_bytes_max = 65535;  ///< S: a larger message waits for its recv
  receiver_model receiver = receiver_model::atlahs;
  matching_rule matching = matching_rule::requeue;
  /// Computing and overheads take up to this part longer, drawn anew for each.
  double noise = 0;
  std::uint64_t seed = 1;
};

/// "atlahs-ai", "atlahs-hpc" (its scripts), "atlahs-hpc-paper" (o as its paper has it).
std::optional<loggops_parameters> loggops_preset(std::string_view name);
std::vector<std::string> loggops_preset_names();

}  // namespace troupe
