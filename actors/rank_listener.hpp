// rank_listener: the socket on which the ranks' processes speak: accepts, checks, cuts frames,
// hands them to the ports.
//
// An abstract Unix socket: it vanishes with the process. Only processes of the same user are let
// in. It works in the scheduler's thread, between the actors' turns: a change of thread for each
// frame would cost more than to decode it. Limits: a frame
// (messages/wire.hpp); bytes waiting to be sent to one rank (queued_bytes_max), beyond which it is
// cut off.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "actors/interfaces.hpp"
#include "actors/wall_scheduler.hpp"
#include "messages/error.hpp"

namespace troupe {

class rank_listener {
 public:
  static constexpr std::uint64_t queued_bytes_max = 256u << 20;

  /// Binds a fresh name for a run of `world` ranks.
  static result<std::unique_ptr<rank_listener>> open(std::uint32_t world);
  virtual ~rank_listener() = default;  ///< stops, and closes all connections

  /// The name in the abstract namespace, without the leading NUL.
  virtual const std::string& name() const = 0;
  /// The port of a rank; every rank's before start().
  virtual void introduce(rank_id rank, rank_port_actor port) = 0;
  /// `core_is_idle`: asked, in the scheduler's thread, when there is nothing to do. While it says
  /// so the thread looks a little longer for the next frame, since its core would take as long to
  /// wake.
  virtual void start(wall_scheduler& scheduler, std::function<bool()> core_is_idle) = 0;
  /// Leaves the scheduler, closes all connections and lets go of the ports. Once; the destructor
  /// does it too.
  virtual void stop() = 0;
};

}  // namespace troupe
