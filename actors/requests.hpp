// requests: what the cast says to each other, beside the rank's own words (messages/wire.hpp).
// Requests are imperatives, replies past participles.
//
// All of it stays in one process: messages carry shared memory, handles and pointers into it.
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/error.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/findings.hpp"
#include "actors/quiet_ranks.hpp"
#include "actors/slot_table.hpp"
#include "actors/wait_graph.hpp"
#include "graph/execution_graph.hpp"
#include "messages/error.hpp"
#include "messages/wire.hpp"

namespace troupe {

class rank_connection;

// --- to the coordinator: what its surroundings report, and the run itself
struct run_job {};
struct interrupt_run {};
struct rank_summary {
  rank_id rank, lead;  ///< a companion's process is its lead's: it has used nothing itself
  std::int32_t wait_status{};
  std::uint64_t cpu_ns{}, blocked_ns{}, switches{}, peak_bytes{};
  std::optional<std::uint64_t> tensor_peak_bytes{};  ///< none: it did not count them
  /// Of the host device; none: nothing was allocated there.
  std::optional<std::uint64_t> device_peak_bytes{}, device_fragmented_bytes{};
};
struct job_report {
  errc outcome{};
  std::vector<finding> findings, warnings;
  std::vector<rank_summary> ranks;
  std::uint64_t wall_ns{}, switches{};
  std::vector<std::uint64_t> switch_ns;  ///< sorted: from a slot given up to the next rank's grant
  std::uint64_t trace_bytes{};
};

// --- to stall_watch
struct look_for_stalls {};

// --- to rank_port
struct rank_connected {
  std::shared_ptr<rank_connection> connection;
  std::int32_t pid{};
  bool threads_known = true;  ///< the numbers it gives its threads are those we see
};
struct frames_arrived {
  std::shared_ptr<const std::vector<to_troupe::frame>> frames;
  const rank_connection* from{};
};
struct connection_lost {
  const rank_connection* from{};
  error why;
};
/// The rank's process is gone (or the run is over).
struct end_rank {
  std::uint64_t at_ns{};
};
struct rank_ended {
  bool connected{}, left_in_order{};
  std::uint64_t blocked_ns{}, switches{};
  std::vector<rank_id> companions;
};

// --- to rank (it also takes to_troupe's structs as they are)
struct describe_wait {};
/// Of a process: what its lead and companions have called and wait for.
struct wait_described {
  enum class state : std::uint8_t { goes_on, waits, ended };
  state now{};
  rank_id rank;
  rank_wait wait;  ///< when it waits
  std::uint64_t
      turn{};  ///< grows each time it goes on: the same again means that it has waited since
  rank_progress progress;
};
struct operation_completed {
  operation_id operation;
  std::shared_ptr<const std::vector<payload>> pieces;  ///< null: nothing
  std::int32_t source = -1;
};
struct store_completed {
  operation_id operation;
  store_reply reply;
};
struct group_ready {};

// --- to group_directory and group_proxy
struct open_group {
  rank_id rank;
  to_troupe::open_communicator wanted;
};
struct join_collective {
  rank_id rank;
  std::uint32_t group_rank{};
  to_troupe::issue issue;
  std::string call_site;
  std::uint32_t depth{};  ///< of collectives awaited before it (dependency_depth.hpp)
};
struct collective_resolved {
  std::shared_ptr<const std::vector<payload>> pieces;
  std::int32_t source = -1;
  std::uint32_t depth{};
};
/// A process ended: what lacks its ranks can never complete. `rank`: its lead. `cause`: why, for
/// the findings.
struct withdraw_member {
  rank_id rank;
  error cause;
};
/// A member gives the communicator up: what is open on it fails for all, and what they call later;
/// nobody is to blame.
struct abort_group {
  rank_id rank;
};
struct describe_open {};
/// What some have called and that cannot complete yet; a sum being computed is not among it.
struct open_described {
  std::vector<open_operation> open;
};

// --- to slot_keeper
struct watch_process {
  rank_id rank;
  std::int32_t pid{};
};
struct take_slot {
  rank_id rank;
  std::vector<wait_target> resolved;
  claim what{};
};
/// The slot that the rank asked for as if in vain is worth having now.
struct slot_is_useful {
  rank_id rank;
};
struct slot_granted {
  slot_id slot;
};
struct give_up_slot {
  rank_id rank;
  release_reason why{};
  std::vector<wait_target> waits_on;
};
struct leave_slots {
  rank_id rank;
};
struct know_group {
  communicator_id communicator;
  std::vector<rank_id> members;
};
/// Of these ranks, all of whose threads that call us wait: whose process has other threads that
/// could still act by themselves?
struct examine_processes {
  std::vector<rank_wait> waits;
};
struct processes_examined {
  std::vector<rank_id> may_act;
};
struct report_slots {};
struct slots_reported {
  std::uint64_t switches{};
  std::vector<std::uint64_t> switch_ns;
};

// --- to store, buffer_pool
struct ask_store {
  rank_id rank;
  operation_id operation;
  store_request request;
};
struct lease_extent {
  std::uint64_t size{};
};
struct extent_leased {
  region extent;
};

// --- to recorder
struct record_nodes {
  rank_id rank;
  std::shared_ptr<const std::vector<node>> nodes;
};
struct record_slots {
  std::shared_ptr<const std::vector<slot_interval>> intervals;
};
struct record_finding {
  finding what;
};
/// Something that may be wrong: it is said, and the run goes on.
struct record_warning {
  finding what;
};
struct record_process {
  rank_id rank;
  std::int32_t pid{};
  bool ended{};
  std::int32_t wait_status{};
};
struct await_finding {};
struct finding_recorded {
  finding what;
};
struct close_records {
  errc outcome{};
  std::uint64_t wall_ns{};
};
struct records_closed {
  std::vector<finding> findings, warnings;
  std::uint64_t trace_bytes{};
};

}  // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::run_job)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::interrupt_run)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::job_report)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::from_launcher::started)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::from_launcher::ended)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::from_launcher::failed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::look_for_stalls)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::rank_connected)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::frames_arrived)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::connection_lost)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::end_rank)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::rank_ended)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::to_troupe::take_slot)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::to_troupe::open_communicator)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::to_troupe::call_site)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::to_troupe::issue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::to_troupe::blocked)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::to_troupe::awaited)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::to_troupe::yielded)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::to_troupe::store)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::to_troupe::mark)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::to_troupe::copied)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::to_troupe::future_taken)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::to_troupe::leave)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::to_troupe::abort_communicator)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::abort_group)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::operation_completed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::store_completed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::group_ready)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::open_group)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::join_collective)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::collective_resolved)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::withdraw_member)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::describe_open)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::open_described)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::describe_wait)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::wait_described)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::watch_process)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::take_slot)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::slot_granted)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::slot_is_useful)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::give_up_slot)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::leave_slots)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::know_group)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::examine_processes)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::processes_examined)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::report_slots)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::slots_reported)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::ask_store)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::store_reply)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::lease_extent)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::extent_leased)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::record_nodes)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::record_slots)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::record_finding)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::record_warning)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::record_process)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::await_finding)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::finding_recorded)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::close_records)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::records_closed)
