// stream_set: the streams of one device: what a piece of work queued on one of them comes after.
//
// CUDA's rules: a stream is in order; the legacy default stream waits for all blocking streams of
// its device and they for it; streams created non-blocking keep out of that. Not thread-safe: the
// runtime has one lock for all its streams. Not here: running (work_graph.hpp), capture
// (stream_capture.hpp).
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "interpose/cudart/work_graph.hpp"

namespace troupe {

class stream_capture;
struct plan_step;

struct device_stream {
  int device = 0;
  bool is_legacy = false, is_blocking = true, is_per_thread = false;
  unsigned flags = 0;
  int priority = 0;
  std::uint64_t id = 0;
  node_ptr tail;
  /// While it is captured: into what, and what the next step comes after.
  std::shared_ptr<stream_capture> capture;
  std::vector<plan_step*> captured_tail;
};

class stream_set {
 public:
  explicit stream_set(int device);

  device_stream& legacy() { return legacy_; }
  device_stream& create(bool is_blocking);
  /// What is queued on it still has to be done. False when it is none of ours.
  bool destroy(device_stream& stream);
  bool has(const device_stream& stream) const;

  /// What work queued now on the stream comes after.
  std::vector<node_ptr> before(const device_stream& stream) const;
  /// All that is queued on the device.
  std::vector<node_ptr> everything() const;
  /// Is a blocking stream captured (other than into `by`)? Then the legacy stream cannot be used.
  bool captures_blocking() const;

 private:
  device_stream legacy_;
  std::list<device_stream> created_;  // addresses are handles
  std::vector<node_ptr> left_;        // of destroyed streams
};

}  // namespace troupe
