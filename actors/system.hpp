// system: the actor system's configuration on either clock.
#pragma once

#include <caf/actor_system_config.hpp>

namespace troupe {

/// As fast as possible and deterministic (virtual_scheduler).
struct virtual_time_config : caf::actor_system_config {
  virtual_time_config();
};

/// Against the wall clock (wall_scheduler).
struct wall_time_config : caf::actor_system_config {
  wall_time_config();
};

}  // namespace troupe
