// store: the run's c10d Store as an actor: get and wait are held replies, so that no rank polls for
// a key.
//
// Asked by: rank (ask_store), stall_watch (describe_open).  Asks nobody.
// Not here: what the requests mean (kv_table.hpp).
#include <fmt/format.h>
#include <caf/actor_system.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <algorithm>
#include <map>

#include "actors/errors.hpp"
#include "actors/interfaces.hpp"
#include "actors/kv_table.hpp"

namespace troupe {

struct store_timeout {
  std::uint64_t number{};
};

}  // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::store_timeout)

namespace troupe {
namespace {

using store_self = store_actor::extend<caf::reacts_to<store_timeout>>;

/// A longer timeout would leave the clock's range; nobody sees its end.
constexpr std::uint64_t timeout_ns_max = 10ull * 365 * 24 * 3600 * 1'000'000'000;

struct waiting_request {
  caf::typed_response_promise<store_reply> held;
  rank_id rank;
  operation_id operation;
};

struct store_state {
  kv_table table;
  std::map<kv_table::ticket, waiting_request> waiting;
  kv_table::ticket tickets = 0;

  ~store_state() {
    for (auto& [number, request] : waiting)
      request.held.deliver(to_caf({errc::lost_rank, "the run has ended"}));
  }
};
using self_pointer = store_self::stateful_pointer<store_state>;

store_self::behavior_type behave(self_pointer self) {
  return {
      [=](const ask_store& ask) -> caf::result<store_reply> {
        auto& state = self->state;
        const auto number = ++state.tickets;
        auto held = self->make_response_promise<store_reply>();
        state.waiting.emplace(number, waiting_request{held, ask.rank, ask.operation});
        for (auto& answer : state.table.submit(number, ask.request)) {
          auto request = state.waiting.extract(answer.number);
          if (answer.reply)
            request.mapped().held.deliver(std::move(*answer.reply));
          else
            request.mapped().held.deliver(to_caf(answer.reply.error()));
        }
        if (state.waiting.contains(number) && ask.request.timeout_ns)
          self->delayed_send(self, nanos{std::min(ask.request.timeout_ns, timeout_ns_max)},
                             store_timeout{number});
        return held;
      },
      [=](const describe_open&) {
        open_described all;
        for (const auto& [number, key] : self->state.table.waiting()) {
          const auto& request = self->state.waiting.at(number);
          open_operation one{"wait for key " + key, {}, {}, {}, {}, true};
          one.callers.push_back(
              {request.rank,
               request.operation,
               fmt::format("rank {} asked for key {} of the store", request.rank.value, key),
               {}});
          all.open.push_back(std::move(one));
        }
        return all;
      },
      [=](const store_timeout& due) {
        auto request = self->state.waiting.extract(due.number);
        if (request.empty()) return;
        std::string keys;
        for (const auto& key : self->state.table.give_up(due.number))
          keys += (keys.empty() ? "" : ", ") + key;
        request.mapped().held.deliver(to_caf(
            {errc::timed_out, fmt::format("rank {} waited for {} of the store until its timeout",
                                          request.mapped().rank.value, keys)}));
      },
  };
}

}  // namespace

store_actor spawn_store(caf::actor_system& system, const run_surroundings&) {
  return system.spawn(behave);
}

}  // namespace troupe
