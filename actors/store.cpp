// store: the run's c10d Store as an actor: get and wait are held replies, so that no rank polls for
// a key.
//
// Asked by: rank (ask_store), stall_watch (describe_open).  Asks nobody. Timeouts count in rank
// time (run_clock). Not here: what the requests mean (kv_table.hpp).
#include <fmt/format.h>
#include <caf/actor_system.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <algorithm>
#include <map>

#include "actors/errors.hpp"
#include "actors/interfaces.hpp"
#include "actors/kv_table.hpp"
#include "actors/payload_pools.hpp"

namespace troupe {

struct store_timeout {
  std::uint64_t number{};
};

}  // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::store_timeout)

namespace troupe {
namespace {

using store_self = store_actor::extend<caf::reacts_to<store_timeout>>;

/// Programs live through timeouts up to this long (a monitored_barrier without one of its ranks, a
/// poll of the store): until then such a wait is no deadlock. Longer ones are there to end a hang.
constexpr std::uint64_t short_timeout_ns_max = 60ull * 1'000'000'000;
/// A longer timeout would leave the clock's range; nobody sees its end.
constexpr std::uint64_t timeout_ns_max = 10ull * 365 * 24 * 3600 * 1'000'000'000;

struct waiting_request {
  caf::typed_response_promise<store_reply> held;
  rank_id rank;
  operation_id operation;
  std::uint64_t due_ns{};  ///< in rank time; 0: never
  bool short_timeout{};
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

std::uint64_t rank_time_ns(self_pointer self, const run_surroundings& run) {
  return run.pools->clock().rank_time_ns(
      [=] { return static_cast<std::uint64_t>(self->clock().now().time_since_epoch().count()); });
}

/// Rank time never runs faster than the clock, so there is nothing to do before.
void look_when_due(self_pointer self, kv_table::ticket number, std::uint64_t left_ns) {
  constexpr std::uint64_t not_at_once_ns = 1'000'000;
  self->delayed_send(self, nanos{std::clamp(left_ns, not_at_once_ns, timeout_ns_max)},
                     store_timeout{number});
}

store_self::behavior_type behave(self_pointer self, const run_surroundings& run) {
  return {
      [=](const ask_store& ask) -> caf::result<store_reply> {
        auto& state = self->state;
        const auto number = ++state.tickets;
        auto held = self->make_response_promise<store_reply>();
        state.waiting.emplace(number, waiting_request{held, ask.rank, ask.operation, 0, false});
        for (auto& answer : state.table.submit(number, ask.request)) {
          auto request = state.waiting.extract(answer.number);
          if (answer.reply)
            request.mapped().held.deliver(std::move(*answer.reply));
          else
            request.mapped().held.deliver(to_caf(answer.reply.error()));
        }
        if (auto waits = state.waiting.find(number);
            waits != state.waiting.end() && ask.request.timeout_ns) {
          const auto timeout = std::min(ask.request.timeout_ns, timeout_ns_max);
          waits->second.due_ns = rank_time_ns(self, run) + timeout;
          waits->second.short_timeout = timeout <= short_timeout_ns_max;
          look_when_due(self, number, timeout);
        }
        return held;
      },
      [=](const describe_open&) {
        open_described all;
        for (const auto& [number, key] : self->state.table.waiting()) {
          const auto& request = self->state.waiting.at(number);
          open_operation one{"wait for key " + key, {}, {}, {}, {}, true, request.short_timeout};
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
        auto waits = self->state.waiting.find(due.number);
        if (waits == self->state.waiting.end()) return;
        if (const auto now = rank_time_ns(self, run); now < waits->second.due_ns)
          return look_when_due(self, due.number, waits->second.due_ns - now);
        auto request = self->state.waiting.extract(waits);
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

store_actor spawn_store(caf::actor_system& system, const run_surroundings& run) {
  return system.spawn(behave, run);
}

}  // namespace troupe
