// buffer_pool: leases payload memory to the ranks: memory first, then the spill file; only a full
// disk refuses.
//
// Asked by: rank_port (lease_extent).  Asks: the worker pool (the disk).
// Limits: the pools' sizes (payload_pools.hpp). A lease lasts until the run ends: others may read
// what a dead rank sent.
#include <caf/actor_system.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <map>

#include "actors/errors.hpp"
#include "actors/interfaces.hpp"
#include "actors/payload_pools.hpp"
#include "gpu/worker_pool.hpp"

namespace troupe {

struct extent_spilled {
  std::uint64_t number{};
  region extent;
  error why;
};

}  // namespace troupe

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(troupe::extent_spilled)

namespace troupe {
namespace {

using pool_self = buffer_pool_actor::extend<caf::reacts_to<extent_spilled>>;

struct pool_state {
  std::map<std::uint64_t, caf::typed_response_promise<extent_leased>> waiting;  // for the disk
  std::uint64_t requests = 0;

  ~pool_state() {
    for (auto& [number, held] : waiting)
      held.deliver(to_caf({errc::lost_rank, "the run has ended"}));
  }
};
using self_pointer = pool_self::stateful_pointer<pool_state>;

pool_self::behavior_type behave(self_pointer self, const run_surroundings& run) {
  return {
      [=](const lease_extent& ask) -> caf::result<extent_leased> {
        auto extent = run.pools->lease(ask.size);
        if (!extent) return to_caf(extent.error());
        if (extent->pool == 0) return extent_leased{*extent};
        auto held = self->make_response_promise<extent_leased>();
        const auto number = ++self->state.requests;
        self->state.waiting.emplace(number, held);
        run.workers->submit(
            [number, extent = *extent, pools = run.pools, me = caf::actor_cast<caf::actor>(self)] {
              auto done = pools->allocate_spilled(extent);
              caf::anon_send(me, extent_spilled{number, extent, done ? error{} : done.error()});
            });
        return held;
      },
      [=](const extent_spilled& done) {
        auto held = self->state.waiting.extract(done.number);
        if (done.why.code == errc::none)
          held.mapped().deliver(extent_leased{done.extent});
        else
          held.mapped().deliver(to_caf(done.why));
      },
  };
}

}  // namespace

buffer_pool_actor spawn_buffer_pool(caf::actor_system& system, const run_surroundings& run) {
  return system.spawn(behave, run);
}

}  // namespace troupe
