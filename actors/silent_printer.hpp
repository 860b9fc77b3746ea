// silent_printer: the utility actor that CAF's base scheduler expects; nobody prints through it.
#pragma once

#include <caf/actor_config.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/monitorable_actor.hpp>

namespace troupe {

struct silent_printer final : caf::monitorable_actor {
  explicit silent_printer(caf::actor_config& config) : monitorable_actor(config) {}
  void enqueue(caf::mailbox_element_ptr, caf::execution_unit*) override {}
};

}  // namespace troupe
