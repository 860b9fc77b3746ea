// interfaces: the cast on one page, in the order of the walk: what each actor can be asked, and how
// it is spawned.
//
// Handles flow down this page: a spawn function takes only handles that stand below it. What
// several need (slot_keeper, store, buffer_pool, recorder) stands at the bottom and is handed to
// all.
#pragma once

#include <caf/fwd.hpp>
#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>

#include <functional>
#include <memory>
#include <vector>

#include "actors/requests.hpp"

namespace troupe {

class backend;
class payload_pools;
class process_activity;
class process_control;
class run_records;
class run_tables;
class thread_placement;
class worker_pool;

/// Plans the run, spawns the cast, supervises deaths, decides what a finding means, collects the
/// report.
using coordinator_actor =
    caf::typed_actor<caf::replies_to<run_job>::with<job_report>,  // answered when the run is over
                     caf::reacts_to<from_launcher::started>, caf::reacts_to<from_launcher::ended>,
                     caf::reacts_to<from_launcher::failed>, caf::reacts_to<interrupt_run>>;

/// The wire of a live rank: calls in, completions out.
using rank_port_actor =
    caf::typed_actor<caf::reacts_to<rank_connected>, caf::reacts_to<frames_arrived>,
                     caf::reacts_to<connection_lost>, caf::replies_to<end_rank>::with<rank_ended>>;

/// Looks for ranks that can never go on, and reports them to the recorder.
using stall_watch_actor = caf::typed_actor<caf::reacts_to<look_for_stalls>>;

/// A process' logical ranks: their operations in order, its slot, their parts of the trace.
using rank_actor =
    caf::typed_actor<caf::replies_to<to_troupe::take_slot>::with<slot_granted>,
                     caf::replies_to<to_troupe::yielded>::with<slot_granted>,
                     caf::replies_to<to_troupe::open_communicator>::with<group_ready>,
                     caf::reacts_to<to_troupe::call_site>,
                     caf::replies_to<to_troupe::issue>::with<operation_completed>,  // arrives only
                                                                                    // with a slot
                     caf::replies_to<to_troupe::store>::with<store_completed>,      // likewise
                     caf::reacts_to<to_troupe::blocked>, caf::reacts_to<to_troupe::awaited>,
                     caf::reacts_to<to_troupe::mark>, caf::reacts_to<to_troupe::copied>,
                     caf::reacts_to<to_troupe::future_taken>,
                     caf::reacts_to<to_troupe::abort_communicator>,
                     caf::replies_to<describe_wait>::with<wait_described>,
                     caf::replies_to<end_rank>::with<rank_ended>>;

/// One communicator: decides when its collectives may run, and has them summed.
using group_proxy_actor =
    caf::typed_actor<caf::replies_to<join_collective>::with<collective_resolved>,
                     caf::reacts_to<withdraw_member>, caf::reacts_to<abort_group>,
                     caf::replies_to<describe_open>::with<open_described>>;

struct group_opened {
  group_proxy_actor proxy;
};

/// open_group → the communicator's proxy. New groups come from ranks, which cannot ask up.
using group_directory_actor =
    caf::typed_actor<caf::replies_to<open_group>::with<group_opened>,
                     caf::reacts_to<withdraw_member>,
                     caf::replies_to<describe_open>::with<open_described>>;

/// The yielding c10d Store: get and wait are held replies.
using store_actor = caf::typed_actor<caf::replies_to<ask_store>::with<store_reply>,
                                     caf::replies_to<describe_open>::with<open_described>>;

/// Leases of payload memory: memory first, then the spill file.
using buffer_pool_actor = caf::typed_actor<caf::replies_to<lease_extent>::with<extent_leased>>;

/// The slots of one set of cores: a rank runs only while it holds one.
using slot_keeper_actor =
    caf::typed_actor<caf::reacts_to<watch_process>, caf::reacts_to<know_group>,
                     caf::replies_to<take_slot>::with<slot_granted>,  // answered when a slot is
                                                                      // free and it is the rank's
                                                                      // turn
                     caf::reacts_to<slot_is_useful>, caf::reacts_to<give_up_slot>,
                     caf::reacts_to<leave_slots>,
                     caf::replies_to<examine_processes>::with<processes_examined>,
                     caf::replies_to<report_slots>::with<slots_reported>>;

/// Trace, journal and findings of the run.
using recorder_actor =
    caf::typed_actor<caf::reacts_to<record_nodes>, caf::reacts_to<record_slots>,
                     caf::reacts_to<record_finding>, caf::reacts_to<record_warning>,
                     caf::reacts_to<record_process>,
                     caf::replies_to<await_finding>::with<finding_recorded>,  // answered at the
                                                                              // first finding
                     caf::replies_to<close_records>::with<records_closed>>;

/// The run as it was planned, and what of the outside the cast works with. All outlive the cast.
struct run_surroundings {
  std::uint32_t world{}, slots{};  ///< processes: their companions are no part of the plan
  nanos start{};                   ///< the run's start on the actor system's clock
  backend* memory{};
  worker_pool* workers{};
  payload_pools* pools{};
  run_tables* tables{};
  run_records* records{};  ///< null: nothing is written
  process_control* processes{};
  process_activity* activity{};   ///< null: sleepers are not looked for
  thread_placement* placement{};  ///< null: the kernel alone decides on which core a rank goes on
  /// A send completes before its recv while what its sender has on the way to that peer is no more
  /// bytes than this (NCCL's FIFO, MPI's eager limit); 0: each waits for its recv.
  std::uint64_t eager_bytes = 0;
  /// Told what may be wrong, when it is found; from any thread of ours.
  std::function<void(const std::string&)> warn;
  /// Ranks that have waited this long are looked at for what may be wrong.
  nanos warn_after = std::chrono::minutes{1};
  /// Told each rank's port once, before anything runs.
  std::function<void(rank_id, rank_port_actor)> introduce_port;
};

coordinator_actor spawn_coordinator(caf::actor_system&, const run_surroundings&);
rank_port_actor spawn_rank_port(caf::actor_system&, const run_surroundings&, rank_id, rank_actor,
                                buffer_pool_actor, slot_keeper_actor);
stall_watch_actor spawn_stall_watch(caf::actor_system&, const run_surroundings&,
                                    std::vector<rank_actor>, group_directory_actor, store_actor,
                                    slot_keeper_actor, recorder_actor);
rank_actor spawn_rank(caf::actor_system&, const run_surroundings&, rank_id, group_directory_actor,
                      store_actor, slot_keeper_actor, recorder_actor);
group_directory_actor spawn_group_directory(caf::actor_system&, const run_surroundings&,
                                            slot_keeper_actor, recorder_actor);
group_proxy_actor spawn_group_proxy(caf::actor_system&, const run_surroundings&,
                                    const communicator_entry&, recorder_actor);
store_actor spawn_store(caf::actor_system&, const run_surroundings&);
buffer_pool_actor spawn_buffer_pool(caf::actor_system&, const run_surroundings&);
slot_keeper_actor spawn_slot_keeper(caf::actor_system&, const run_surroundings&, recorder_actor);
recorder_actor spawn_recorder(caf::actor_system&, const run_surroundings&);

}  // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::group_opened)
