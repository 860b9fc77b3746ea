// event_calls: cudart's calls about events. An event's time is the end of its record on the
// device's time line (work_graph.hpp).
#include "interpose/cudart/run_link.hpp"
#include "interpose/cudart/runtime.hpp"

using namespace troupe;

namespace {

cudaError_t create(cudaEvent_t* handle, unsigned flags) {
  TROUPE_RUNTIME(rt);
  constexpr unsigned known = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
  if (!handle || (flags & ~known)
      || ((flags & cudaEventInterprocess) && !(flags & cudaEventDisableTiming)))
    return answer(cudaErrorInvalidValue);
  const std::lock_guard hold(rt.lock);
  auto* event = new device_event{flags, rt.current().ordinal, nullptr, nullptr, {}};
  rt.events.insert(event);
  *handle = reinterpret_cast<cudaEvent_t>(event);
  return cudaSuccess;
}

cudaError_t record(cudaEvent_t handle, cudaStream_t on, unsigned flags) {
  TROUPE_RUNTIME(rt);
  if (flags > cudaEventRecordExternal) return answer(cudaErrorInvalidValue);
  const std::lock_guard hold(rt.lock);
  auto* event = reinterpret_cast<device_event*>(handle);
  auto* stream = rt.stream(on);
  if (!stream || !rt.events.contains(event)) return answer(cudaErrorInvalidResourceHandle);
  if (stream->device != event->device) return answer(cudaErrorInvalidResourceHandle);
  if (stream->capture) {
    if (flags == cudaEventRecordExternal)
      return answer(not_supported("cudaEventRecord with cudaEventRecordExternal in a capture"));
    event->capture = stream->capture;
    event->captured = stream->captured_tail;
    return cudaSuccess;
  }
  auto& streams = rt.device(stream->device).streams;
  if (stream->is_legacy && streams.captures_blocking())
    return answer(cudaErrorStreamCaptureImplicit);
  event->capture = nullptr;
  stream->tail = event->recorded = rt.graph.add({}, streams.before(*stream));
  return cudaSuccess;
}

/// What the event waits for: null when it was never recorded.
cudaError_t recorded(device_runtime& rt, cudaEvent_t handle, node_ptr& node) {
  const std::lock_guard hold(rt.lock);
  auto* event = reinterpret_cast<device_event*>(handle);
  if (!rt.events.contains(event)) return cudaErrorInvalidResourceHandle;
  if (event->capture) {
    event->capture->spoil();
    return cudaErrorCapturedEvent;
  }
  if (auto refused = rt.refuse_in_capture(); refused) return refused;
  node = event->recorded;
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaEventCreate(cudaEvent_t* handle) { return create(handle, cudaEventDefault); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned flags) {
  return create(handle, flags);
}

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  TROUPE_RUNTIME(rt);
  const std::lock_guard hold(rt.lock);
  auto* event = reinterpret_cast<device_event*>(handle);
  if (rt.events.erase(event) == 0) return answer(cudaErrorInvalidResourceHandle);
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream) {
  return record(handle, stream, cudaEventRecordDefault);
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t handle, cudaStream_t stream, unsigned flags) {
  return record(handle, stream, flags);
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  TROUPE_RUNTIME(rt);
  node_ptr node;
  if (auto refused = recorded(rt, handle, node); refused) return answer(refused);
  rt.wait(node);
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  TROUPE_RUNTIME(rt);
  node_ptr node;
  if (auto refused = recorded(rt, handle, node); refused) return answer(refused);
  if (rt.look(node)) return cudaSuccess;
  let_others_run();
  rt.graph.run_ready();
  return rt.look(node) ? cudaSuccess : answer(cudaErrorNotReady);
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
  TROUPE_RUNTIME(rt);
  if (!ms) return answer(cudaErrorInvalidValue);
  node_ptr first, second;
  for (auto [handle, node] : {std::pair{from, &first}, std::pair{to, &second}}) {
    if (auto refused = recorded(rt, handle, *node); refused) return answer(refused);
    const std::lock_guard hold(rt.lock);
    if (!*node || (reinterpret_cast<device_event*>(handle)->flags & cudaEventDisableTiming))
      return answer(cudaErrorInvalidResourceHandle);
  }
  if (!first->is_done() || !second->is_done()) return answer(cudaErrorNotReady);
  const auto ns = static_cast<std::int64_t>(second->end_ns() - first->end_ns());
  *ms = static_cast<float>(static_cast<double>(ns) / 1e6);
  return cudaSuccess;
}

}  // extern "C"
