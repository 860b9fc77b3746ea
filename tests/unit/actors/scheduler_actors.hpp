// scheduler_actors: small actors for the tests of both schedulers.
#pragma once

#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include <functional>
#include <utility>

namespace troupe {

/// Calls `heard` with every number it is sent.
inline caf::actor spawn_listener(caf::actor_system& system, std::function<void(int)> heard) {
  return system.spawn([heard = std::move(heard)](caf::event_based_actor*) -> caf::behavior {
    return {[heard](int number) { heard(number); }};
  });
}

/// Sends a number back to its sender after it was asked for it.
inline caf::actor spawn_echo(caf::actor_system& system) {
  return system.spawn(
      [](caf::event_based_actor*) -> caf::behavior { return {[](int number) { return number; }}; });
}

inline void stop(const caf::actor& who) {
  caf::anon_send_exit(who, caf::exit_reason::user_shutdown);
}

}  // namespace troupe
