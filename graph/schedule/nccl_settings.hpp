// nccl_settings: what NCCL lets be chosen, and what it would find out of the machine.
//
// Source: NCCL 2.28's environment variables as its user guide has them, lists as its
// src/graph/tuning.cc reads them: NCCL_ALGO="ring;allreduce:tree,ring", "^tree", in any case.
// Defaults are those of hosts with NVSwitch and a 400 Gb/s nic a device. Not here: what is chosen
// (nccl_tuning.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "messages/collective.hpp"

namespace troupe {

/// The numbers are NCCL's.
enum class nccl_function : std::uint8_t {
  broadcast,
  reduce,
  all_gather,
  reduce_scatter,
  all_reduce
};
enum class nccl_algorithm : std::uint8_t {
  tree,
  ring,
  collnet_direct,
  collnet_chain,
  nvls,
  nvls_tree,
  pat
};
enum class nccl_protocol : std::uint8_t { ll, ll128, simple };
constexpr int nccl_functions = 5, nccl_algorithms = 7, nccl_protocols = 3;

/// "AllReduce", "Ring", "LL128".
const char* to_string(nccl_function which);
const char* to_string(nccl_algorithm which);
const char* to_string(nccl_protocol which);

enum class nccl_generation : std::uint8_t { volta, ampere, hopper, blackwell };

template <class Enum, int of, class Value>
class by_enum : public std::array<Value, of> {
 public:
  Value& operator[](Enum which) { return this->data()[static_cast<std::size_t>(which)]; }
  const Value& operator[](Enum which) const {
    return this->data()[static_cast<std::size_t>(which)];
  }
};

struct nccl_settings {
  /// [function][algorithm], [function][protocol]: may it be used?
  by_enum<nccl_function, nccl_functions, by_enum<nccl_algorithm, nccl_algorithms, bool>> algorithms;
  by_enum<nccl_function, nccl_functions, by_enum<nccl_protocol, nccl_protocols, bool>> protocols;
  /// Channels that the topology would give, each ring twice; 0: two for each device of the largest
  /// host.
  std::uint32_t channels = 0;
  std::uint32_t channels_min = 0, channels_max = 64;
  /// LL: 8 lines × 512 threads × 8 steps × 16 bytes; LL128: 120 × 640 × 8 steps × 8; Simple: 4 MiB.
  by_enum<nccl_protocol, nccl_protocols, std::uint64_t> buffer_bytes{{524288, 4915200, 4194304}};
  nccl_generation generation = nccl_generation::hopper;
  double inside_gb = 40, between_gb = 40;  ///< GB/s of a ring inside a host, between hosts

  nccl_settings();  ///< everything may be used
};

/// NCCL_ALGO, NCCL_PROTO, NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS (and …_NRINGS), NCCL_BUFFSIZE,
/// NCCL_LL_BUFFSIZE, NCCL_LL128_BUFFSIZE among `environment`; other names are not looked at.
/// errc::usage: names the variable and the word that it does not have.
result<nccl_settings> parse_nccl_settings(
    const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace troupe
