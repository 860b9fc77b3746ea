// runtime: the devices of this process: their memory, streams and work, as the calls of cudart use
// them.
//
// One a process, made at the first call and never destroyed: programs call until their last
// breath. Locks: `lock` guards streams, events, captures and plans; it is never held while work
// runs. Not here: the calls (*_calls.cpp); what a GPU is (device_profile.hpp).
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "interpose/cudart/device_memory.hpp"
#include "interpose/cudart/device_profile.hpp"
#include "interpose/cudart/kernel_registry.hpp"
#include "interpose/cudart/kernel_times.hpp"
#include "interpose/cudart/memory_map.hpp"
#include "interpose/cudart/stream_capture.hpp"
#include "interpose/cudart/stream_set.hpp"
#include "interpose/cudart/work_graph.hpp"

namespace troupe {

struct device_state {
  int ordinal;       ///< as the program counts
  int host_ordinal;  ///< as the host does (CUDA_VISIBLE_DEVICES)
  device_memory memory;
  stream_set streams;
  unsigned flags = cudaDeviceScheduleAuto;
  std::set<int> peers;  ///< that it was given access to

  device_state(int ordinal, int host_ordinal, const device_profile& profile)
      : ordinal(ordinal),
        host_ordinal(host_ordinal),
        memory(profile.memory_bytes, profile.context_bytes),
        streams(ordinal) {}
};

struct device_event {
  unsigned flags = 0;
  int device = 0;
  node_ptr recorded;
  /// Recorded last into a capture: which, and after what.
  std::shared_ptr<stream_capture> capture;
  std::vector<plan_step*> captured;
};

class device_runtime {
 public:
  /// cudaErrorInitializationError in a child that was forked after the parent's first call, or
  /// when the environment names no device that there is (which is said once).
  static cudaError_t find(device_runtime*& runtime);

  const device_profile& profile() const { return profile_; }
  int device_count() const { return static_cast<int>(devices_.size()); }
  device_state& device(int ordinal) { return *devices_[static_cast<std::size_t>(ordinal)]; }
  device_state& current();
  bool has_device(int ordinal) const { return ordinal >= 0 && ordinal < device_count(); }

  std::mutex lock;
  memory_map memory;
  work_graph graph;
  kernel_registry& kernels;
  kernel_times times;
  std::set<device_event*> events;
  std::set<std::shared_ptr<stream_capture>> captures;

  /// The stream behind a handle (null, cudaStreamLegacy, cudaStreamPerThread or one that was
  /// created); nullptr when there is none. `lock` is held.
  device_stream* stream(cudaStream_t handle);
  /// Queues a piece on these streams (of any devices), and runs what is ready. `queued` may be
  /// null; while the streams are captured the piece becomes a step, and *queued is null.
  cudaError_t queue(const std::vector<cudaStream_t>& streams, plan_step step, node_ptr* queued);
  cudaError_t queue(cudaStream_t stream, plan_step step, node_ptr* queued = nullptr) {
    return queue(std::vector{stream}, std::move(step), queued);
  }
  /// Queues it, and waits. Not while the stream is captured.
  cudaError_t queue_and_wait(cudaStream_t stream, plan_step step);
  /// Blocks until all of the device's work is done.
  cudaError_t synchronize(device_state& device);
  void wait(const node_ptr& node);
  /// Is it done? If so the program knows it now, as after a wait. Null is done.
  bool look(const node_ptr& node);
  /// What a call that waits (or frees, …) gets while this thread may not make it: a capture is
  /// under way that it would spoil. `lock` is held.
  cudaError_t refuse_in_capture();

 private:
  device_runtime(device_profile profile, const std::vector<int>& host_ordinals);
  static device_runtime* make(cudaError_t& why);
  void note_awaited(const node_ptr& node);

  const device_profile profile_;
  std::vector<std::unique_ptr<device_state>> devices_;
};

/// Kernels are registered before there is a runtime.
kernel_registry& registered_kernels();

/// The calling thread's.
struct thread_state {
  int device = 0;
  cudaError_t last_error = cudaSuccess;
  cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;
  std::vector<device_stream*> own_streams;  ///< by device: its per-thread default streams
};
thread_state& this_thread();

/// Every call's answer passes here: the thread's last error.
inline cudaError_t answer(cudaError_t status) {
  if (status != cudaSuccess) this_thread().last_error = status;
  return status;
}

/// A call that the host device does not have: said once a call.
cudaError_t not_supported(const char* call);

// TROUPE_RUNTIME(rt): the runtime, or the call's answer when there is none.
#define TROUPE_RUNTIME(name)                                          \
  ::troupe::device_runtime* name##_found = nullptr;                   \
  if (auto none = ::troupe::device_runtime::find(name##_found); none) \
    return ::troupe::answer(none);                                    \
  [[maybe_unused]] auto& name = *name##_found

}  // namespace troupe
