// wire: the frames of wire.capnp and control.capnp as plain values (no Cap'n Proto in sight of
// their users).
//
// Not here: bytes (wire_codec.hpp); how the two sides converse (docs/wire_protocol.md).
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "messages/collective.hpp"
#include "messages/companions.hpp"
#include "messages/error.hpp"
#include "messages/ids.hpp"
#include "messages/release_reason.hpp"

namespace troupe {

struct region {
  std::uint32_t pool{};    ///< 0: memory, 1: the spill file
  std::uint64_t offset{};  ///< of the first payload byte
  std::uint64_t length{};  ///< bytes
  std::uint64_t
      header{};  ///< of the region_header; a slice of a larger region keeps that region's header
  friend bool operator==(const region&, const region&) = default;
};

using inline_bytes = std::vector<std::uint8_t>;
/// Nothing, bytes in the frame, or bytes in a pool.
using payload = std::variant<std::monostate, inline_bytes, region>;

enum class store_kind : std::uint8_t {
  set,
  get,
  add,
  check,
  wait,
  delete_key,
  compare_set,
  num_keys,
  append,
  list_keys,
  push,
  pop,
  queue_length
};

struct store_request {
  store_kind kind{};
  std::vector<std::string> keys;
  std::vector<std::uint8_t> value, expected;
  std::int64_t amount{};
  std::uint64_t timeout_ns{};  ///< 0: none

  /// Is it answered only when its keys are there?
  bool waits() const {
    return kind == store_kind::get || kind == store_kind::wait
           || (kind == store_kind::pop && amount != 0);
  }
};

struct store_reply {
  std::vector<std::uint8_t> value;
  std::int64_t number{};
};

namespace to_troupe {
struct hello {
  std::uint32_t version{};
  rank_id rank;
  std::int32_t pid{};
};
struct take_slot {};
struct open_communicator {
  communicator_id communicator;
  std::vector<rank_id> members;
  std::uint32_t ordinal{};
  semantics rules{};
  std::string name;
  companion_number companion{};  ///< of the process, that opens it
};
struct call_site {
  call_site_id id;
  std::string text;
};
struct issue {
  operation_id operation;
  communicator_id communicator;
  sequence_number sequence;
  collective_call call;
  troupe::payload payload;
  call_site_id site;
  bool as_future{};
  std::uint64_t at_ns{};
};
struct blocked {
  release_reason reason{};
  std::vector<operation_id> operations;
  std::uint64_t at_ns{};
  std::vector<std::int32_t> threads;  ///< that wait for them, and ours
  bool takes_signals{};  ///< the leading thread waits where handlers of Python's still run
};
struct awaited {
  std::vector<operation_id> operations;
  std::uint64_t at_ns{};
};
struct yielded {
  std::uint64_t at_ns{};
};
struct lease {
  operation_id operation;
  std::uint64_t size{};
};
struct store {
  operation_id operation;
  store_request request;
};
struct mark {
  std::uint8_t kind{};
  std::uint64_t at_ns{};
};  // kind: graph's marker_kind, its receiver checks it
struct future_taken {
  operation_id operation;
};
struct leave {};
struct abort_communicator {
  communicator_id communicator;
  companion_number companion{};
};
/// A copy between a device and the host, on a host device.
struct copied {
  std::uint64_t size{};
  std::uint64_t duration_ns{};  ///< on the device
  std::uint64_t at_ns{};        ///< when the program asked for it
};
using frame =
    std::variant<hello, take_slot, open_communicator, call_site, issue, blocked, awaited, yielded,
                 lease, store, mark, future_taken, leave, abort_communicator, copied>;
}  // namespace to_troupe

namespace to_rank {
struct welcome {
  std::uint32_t world{}, slots{};
  std::vector<std::uint64_t> pool_sizes;
  std::uint64_t rank_page_offset{};
  std::uint32_t inline_limit{};
  std::uint64_t start_ns{};
};
struct refused {
  std::string text;
};
struct granted {};
struct completed {
  operation_id operation;
  error why;  ///< errc::none: done
  std::vector<payload> pieces;
  std::int32_t source = -1;
};
struct leased {
  operation_id operation;
  error why;
  troupe::region region;
};
struct stored {
  operation_id operation;
  error why;
  store_reply reply;
};
using frame = std::variant<welcome, refused, granted, completed, leased, stored>;
}  // namespace to_rank

namespace from_launcher {
struct started {
  rank_id rank;
  std::int32_t pid{};
};
struct ended {
  rank_id rank;
  std::int32_t pid{}, wait_status{};
  std::uint64_t cpu_ns{}, peak_bytes{};
};
struct failed {
  error why;
};
using frame = std::variant<started, ended, failed>;
}  // namespace from_launcher

namespace to_launcher {
struct signal {
  std::int32_t number{};
};
struct end {};
using frame = std::variant<signal, end>;
}  // namespace to_launcher

constexpr std::uint32_t wire_version = 2;
/// No frame is longer: a sender makes none, a reader believes none.
constexpr std::uint64_t frame_bytes_max = 16u << 20;
/// Limits within a frame. Longer diagnoses and names are cut when they are encoded; who takes
/// lists, keys or values from a program checks them before (an encoder asserts).
constexpr std::uint32_t text_bytes_max = 1u << 20;
constexpr std::uint32_t list_length_max = 1u << 20;
constexpr std::uint32_t key_bytes_max = 64u << 10;

}  // namespace troupe
