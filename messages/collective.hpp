// collective: one communication call as a rank makes it: operations, element types, reductions,
// sizes, validity.
//
// Counts are elements. The names are NCCL's and c10d's; point-to-point calls are calls of their
// communicator too. Not here: which calls of several members match (actors/rendezvous.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "messages/error.hpp"
#include "messages/ids.hpp"

namespace troupe {

enum class operation : std::uint8_t {
  all_reduce,
  broadcast,
  reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  gather,
  scatter,
  barrier,
  send,
  recv,
};
constexpr int operation_count = 11;

enum class element_type : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  i64,
  i32,
  i16,
  i8,
  u8,
  boolean,
  c64,
  c128,
  f8e4m3,
  f8e5m2,
  u32,
  u64
};
constexpr int element_type_count = 16;

enum class reduction : std::uint8_t { none, sum, prod, min, max, avg, band, bor, bxor };
constexpr int reduction_count = 9;

/// Whose rules a communicator follows where they differ (tags, which types and reductions exist).
enum class semantics : std::uint8_t { gloo, nccl, mpi };

const char* to_string(operation op);
const char* to_string(element_type type);
const char* to_string(reduction reduce);
const char* to_string(semantics rules);

/// Bytes of one element.
std::uint32_t size_of(element_type type);

/// Does the operation reduce (all_reduce, reduce, reduce_scatter)?
bool reduces(operation op);
/// send or recv?
constexpr bool is_point_to_point(operation op) {
  return op == operation::send || op == operation::recv;
}
/// The sum, product, … exists for the type (no min/max of complex, no bitwise of floats).
bool exists(reduction reduce, element_type type);

constexpr std::int32_t any_source = -1;

/// One call, as one member makes it. `count` is elements this member gives, and for an operation in
/// which it gives nothing, what it expects; by operation:
///   all_reduce, reduce, broadcast, send, recv   the vector's length (on every member)
///   all_gather, gather                          the member's own part
///   reduce_scatter                              the whole vector (group size × the part)
///   scatter                                     one member's part (the root gives group size ×
///   count) all_to_all                                  the sum of send_counts, or group size × the
///   part when that is empty barrier                                     0
struct collective_call {
  operation op{};
  element_type type{};
  reduction reduce{};
  std::uint64_t count{};
  std::int32_t
      root{};  ///< group rank: root of broadcast, reduce, gather, scatter; the peer of send, recv
  std::int32_t tag{};  ///< send, recv
  std::vector<std::uint64_t>
      send_counts;  ///< all_to_all with splits: elements to each member, else empty
  std::vector<std::uint64_t>
      recv_counts;       ///< all_to_all with splits: elements from each member, else empty
  bool batched = false;  ///< send, recv: within a group of calls (batch_isend_irecv, ncclGroup)
};

/// Elements that member `group_rank` hands in / gets back for this call (the root of a broadcast
/// has its vector: it gets none).
std::uint64_t input_count(const collective_call& call, std::uint32_t group_rank,
                          std::uint32_t group_size);
std::uint64_t output_count(const collective_call& call, std::uint32_t group_rank,
                           std::uint32_t group_size);

/// Is the call possible by itself in a group of this size (root inside, splits add up, the
/// reduction exists)? The error is errc::mismatch's or bad_input's sentence without rank and call
/// site, which the caller knows.
result<void> validate(const collective_call& call, std::uint32_t group_rank,
                      std::uint32_t group_size);

/// "all_reduce(sum, f32 × 1024)", for messages.
std::string describe(const collective_call& call);

}  // namespace troupe
