// stream_capture: a plan that is written by calls on streams, from the begin to the end of their
// capture.
//
// The stream on which it began is the origin; others join by waiting for an event of the capture,
// and must be joined again (an event of theirs, waited for by the origin) before its end. What a
// capture cannot hold spoils it. Not here: which calls those are (the runtime).
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "interpose/cudart/stream_set.hpp"
#include "interpose/cudart/work_plan.hpp"

namespace troupe {

class stream_capture {
 public:
  enum class mode : std::uint8_t { global, thread_local_only, relaxed };
  enum class ending : std::uint8_t { well, spoilt, unjoined };

  stream_capture(device_stream& origin, mode how, std::shared_ptr<work_plan> into);

  /// The stream waits for these steps of the capture, and is part of it from now on.
  static void join(const std::shared_ptr<stream_capture>& capture, device_stream& stream,
                   const std::vector<plan_step*>& steps);
  /// The step comes after what the streams have; they go on after it.
  plan_step& add(plan_step step, const std::vector<device_stream*>& streams);

  void spoil() { is_spoilt_ = true; }
  bool is_spoilt() const { return is_spoilt_; }
  mode how() const { return how_; }
  std::uint64_t id() const { return id_; }
  std::thread::id thread() const { return thread_; }
  bool is_origin(const device_stream& stream) const { return &stream == origin_; }
  const std::shared_ptr<work_plan>& plan() const { return plan_; }

  /// All its streams are out of it.
  ending end();
  /// The stream is gone.
  void forget(device_stream& stream) { streams_.erase(&stream); }

 private:
  device_stream* origin_;
  mode how_;
  std::uint64_t id_;
  std::thread::id thread_;
  std::shared_ptr<work_plan> plan_;
  std::set<device_stream*> streams_;
  bool is_spoilt_ = false;
};

}  // namespace troupe
