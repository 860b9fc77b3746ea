// rank_port: the wire of one live rank: its frames become requests to its rank, the replies become
// frames.
//
// Asked by: the listener (rank_connected, frames_arrived, connection_lost), coordinator (end_rank).
// Asks: rank, buffer_pool, slot_keeper.
// Invariant: one process at a time is the rank. A process that replaces itself (exec) may connect
// again. Not here: sockets (rank_listener.cpp); slots and operations (rank.cpp).
#include <fmt/format.h>
#include <caf/actor_system.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <chrono>
#include <optional>
#include <utility>
#include <variant>

#include "actors/errors.hpp"
#include "actors/interfaces.hpp"
#include "actors/outside.hpp"
#include "actors/payload_pools.hpp"
#include "actors/run_tables.hpp"

namespace troupe {

struct end_overdue {};

}  // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::end_overdue)

namespace troupe {
namespace {

using port_self = rank_port_actor::extend<caf::reacts_to<end_overdue>>;

/// A dead process' last frames are still in its socket: its rank ends when they are read, or this
/// much later (a child of it may hold the socket open).
constexpr std::chrono::milliseconds last_frames_within{500};

/// Payloads up to this many bytes travel in frames.
constexpr std::uint32_t inline_limit = 4096;

struct port_state {
  std::shared_ptr<rank_connection> connection;
  std::int32_t pid = 0;
  bool connected = false, left = false, threads_known = false;
};
using self_pointer = port_self::stateful_pointer<port_state>;

class wire_of_rank {
 public:
  wire_of_rank(self_pointer self, const run_surroundings& run, rank_id me, rank_actor rank,
               buffer_pool_actor pool, slot_keeper_actor slots)
      : self_(self),
        run_(run),
        me_(me),
        rank_(std::move(rank)),
        pool_(std::move(pool)),
        slots_(std::move(slots)) {}

  void connect(const rank_connected& now) {
    auto& state = self_->state;
    if (state.connection && state.pid != now.pid) {
      now.connection->send(
          to_rank::refused{fmt::format("rank {} is process {} already", me_.value, state.pid)});
      now.connection->close();
      return;
    }
    if (!std::exchange(state.connected, true)) ++run_.tables->ranks_connected;
    state.connection = now.connection;
    state.pid = now.pid;
    state.left = false;
    state.threads_known = now.threads_known;
    self_->send(slots_, watch_process{me_, now.pid});
    to_rank::welcome welcome;
    welcome.world = run_.world;
    welcome.slots = run_.slots;
    welcome.pool_sizes = run_.pools->sizes();
    welcome.rank_page_offset = run_.pools->page_offset_of(me_);
    welcome.inline_limit = inline_limit;
    welcome.start_ns = static_cast<std::uint64_t>(run_.start.count());
    state.connection->send_welcome(welcome, run_.pools->descriptors());
  }

  void lose(const connection_lost& lost) {
    auto& state = self_->state;
    if (state.connection.get() != lost.from) return;
    state.connection->close();
    state.connection = nullptr;
    finish();
  }

  void handle(const frames_arrived& arrived) {
    if (self_->state.connection.get() != arrived.from) return;
    for (const auto& frame : *arrived.frames)
      std::visit([this](const auto& what) { take(what); }, frame);
  }

  caf::result<rank_ended> end(const end_rank& end) {
    ending_ = end;
    ended_ = self_->make_response_promise<rank_ended>();
    if (self_->state.connection)
      self_->delayed_send(self_, last_frames_within, end_overdue{});
    else
      finish();
    return ended_;
  }

  /// Once, when the process is gone and nothing of it is to be read any more.
  void finish() {
    if (!ending_) return;
    const auto end = *std::exchange(ending_, std::nullopt);
    self_->request(rank_, caf::infinite, end).then([this](rank_ended report) {
      auto& state = self_->state;
      report.connected = state.connected;
      report.left_in_order = state.left;
      if (state.connection) state.connection->close();
      state.connection = nullptr;
      ended_.deliver(std::move(report));
    });
  }

 private:
  template <class Frame>
  void answer(const Frame& frame) {
    if (self_->state.connection) self_->state.connection->send(frame);
  }

  void take(const to_troupe::hello&) {}  // the listener's
  void take(const to_troupe::take_slot& ask) {
    self_->request(rank_, caf::infinite, ask)
        .then([this](const slot_granted&) { answer(to_rank::granted{}); }, [](caf::error&) {});
  }
  void take(const to_troupe::yielded& ask) {
    self_->request(rank_, caf::infinite, ask)
        .then([this](const slot_granted&) { answer(to_rank::granted{}); }, [](caf::error&) {});
  }
  void take(const to_troupe::open_communicator& wanted) {
    self_->request(rank_, caf::infinite, wanted)
        .then([](const group_ready&) {},
              [](caf::error&) {
                // every call on the communicator gets this error
              });
  }
  void take(const to_troupe::issue& call) {
    self_->request(rank_, caf::infinite, call)
        .then(
            [this](const operation_completed& done) {
              to_rank::completed frame;
              frame.operation = done.operation;
              if (done.pieces) frame.pieces = *done.pieces;
              frame.source = done.source;
              answer(frame);
            },
            [this, operation = call.operation](caf::error& why) {
              answer(to_rank::completed{operation, from_caf(why), {}, -1});
            });
  }
  void take(const to_troupe::store& ask) {
    self_->request(rank_, caf::infinite, ask)
        .then(
            [this](const store_completed& done) {
              answer(to_rank::stored{done.operation, {}, done.reply});
            },
            [this, operation = ask.operation](caf::error& why) {
              answer(to_rank::stored{operation, from_caf(why), {}});
            });
  }
  void take(const to_troupe::lease& lease) {
    self_->request(pool_, caf::infinite, lease_extent{lease.size})
        .then(
            [this, operation = lease.operation](const extent_leased& leased) {
              answer(to_rank::leased{operation, {}, leased.extent});
            },
            [this, operation = lease.operation](caf::error& why) {
              answer(to_rank::leased{operation, from_caf(why), {}});
            });
  }
  void take(const to_troupe::blocked& blocked) {
    auto said = blocked;
    if (!self_->state.threads_known) said.threads.clear();
    self_->send(rank_, std::move(said));
  }
  void take(const to_troupe::leave&) { self_->state.left = true; }
  template <class Notice>
  void take(const Notice& notice) {  // call_site, awaited, mark, …
    self_->send(rank_, notice);
  }

  self_pointer self_;
  run_surroundings run_;
  rank_id me_;
  rank_actor rank_;
  buffer_pool_actor pool_;
  slot_keeper_actor slots_;
  std::optional<end_rank> ending_;
  caf::typed_response_promise<rank_ended> ended_;
};

port_self::behavior_type behave(self_pointer self, const run_surroundings& run, rank_id me,
                                rank_actor rank, buffer_pool_actor pool, slot_keeper_actor slots) {
  auto port = std::make_shared<wire_of_rank>(self, run, me, std::move(rank), std::move(pool),
                                             std::move(slots));
  return {
      [=](const rank_connected& now) { port->connect(now); },
      [=](const frames_arrived& arrived) { port->handle(arrived); },
      [=](const connection_lost& lost) { port->lose(lost); },
      [=](const end_rank& end) { return port->end(end); },
      [=](const end_overdue&) { port->finish(); },
  };
}

}  // namespace

rank_port_actor spawn_rank_port(caf::actor_system& system, const run_surroundings& run, rank_id me,
                                rank_actor rank, buffer_pool_actor pool, slot_keeper_actor slots) {
  return system.spawn(behave, run, me, std::move(rank), std::move(pool), std::move(slots));
}

}  // namespace troupe
