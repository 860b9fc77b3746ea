// launch_link: between the launcher's control stream and the coordinator; Ctrl-C comes in here too.
//
// One thread. From its construction SIGINT, SIGTERM and SIGHUP are blocked in the constructing
// thread (and those it starts later) and arrive as interrupt_run.
#pragma once

#include <cstdint>
#include <memory>

#include "actors/interfaces.hpp"
#include "actors/outside.hpp"

namespace troupe {

class launch_link final : public process_control {
 public:
  /// `control`: the launcher's stream (not owned).
  explicit launch_link(int control);
  ~launch_link() override;  ///< stops the thread

  void start(coordinator_actor coordinator);
  void stop();
  void signal_all(std::int32_t number) override;
  /// Tells the launcher to kill what is left and to go.
  void end();

 private:
  class implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace troupe
