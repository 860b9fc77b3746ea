// stream_calls: cudart's calls about streams, host functions and capture.
#include <algorithm>
#include <memory>
#include <utility>

#include "interpose/cudart/graph_handles.hpp"
#include "interpose/cudart/run_link.hpp"
#include "interpose/cudart/runtime.hpp"

using namespace troupe;

namespace {

cudaStream_t handle_of(device_stream& stream) { return reinterpret_cast<cudaStream_t>(&stream); }

/// What the stream has queued now, as one node.
cudaError_t last_of(device_runtime& rt, cudaStream_t handle, std::vector<node_ptr>& all) {
  const std::lock_guard hold(rt.lock);
  auto* stream = rt.stream(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (stream->capture) {
    stream->capture->spoil();
    return cudaErrorStreamCaptureUnsupported;
  }
  if (auto refused = rt.refuse_in_capture(); refused) return refused;
  all = {stream->tail};
  if (stream->is_legacy) all = rt.device(stream->device).streams.before(*stream);
  return cudaSuccess;
}

cudaError_t create(cudaStream_t* handle, unsigned flags, int priority) {
  TROUPE_RUNTIME(rt);
  if (!handle || (flags != cudaStreamDefault && flags != cudaStreamNonBlocking))
    return answer(cudaErrorInvalidValue);
  const std::lock_guard hold(rt.lock);
  auto& made = rt.current().streams.create(flags == cudaStreamDefault);
  made.flags = flags;
  made.priority = std::min(0, std::max(priority, -5));
  *handle = handle_of(made);
  return cudaSuccess;
}

/// Looks at a stream; the answer is what `look` returns.
template <class Look>
cudaError_t with_stream(cudaStream_t handle, Look look) {
  TROUPE_RUNTIME(rt);
  const std::lock_guard hold(rt.lock);
  auto* stream = rt.stream(handle);
  return stream ? answer(look(*stream)) : answer(cudaErrorInvalidResourceHandle);
}

cudaStreamCaptureStatus status_of(const device_stream& stream) {
  if (!stream.capture) return cudaStreamCaptureStatusNone;
  return stream.capture->is_spoilt() ? cudaStreamCaptureStatusInvalidated
                                     : cudaStreamCaptureStatusActive;
}

cudaError_t begin_capture(cudaStream_t handle, cudaStreamCaptureMode mode,
                          std::shared_ptr<work_plan> into, std::vector<plan_step*> after) {
  TROUPE_RUNTIME(rt);
  if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed)
    return answer(cudaErrorInvalidValue);
  const std::lock_guard hold(rt.lock);
  auto* stream = rt.stream(handle);
  if (!stream) return answer(cudaErrorInvalidResourceHandle);
  if (stream->is_legacy) return answer(cudaErrorStreamCaptureUnsupported);
  if (stream->capture) return answer(cudaErrorIllegalState);
  auto capture = std::make_shared<stream_capture>(*stream, static_cast<stream_capture::mode>(mode),
                                                  std::move(into));
  stream_capture::join(capture, *stream, after);
  rt.captures.insert(std::move(capture));
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* handle) { return create(handle, cudaStreamDefault, 0); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* handle, unsigned flags) {
  return create(handle, flags, 0);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* handle, unsigned flags, int priority) {
  return create(handle, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  TROUPE_RUNTIME(rt);
  const std::lock_guard hold(rt.lock);
  auto* stream = rt.stream(handle);
  if (!stream || stream->is_legacy || stream->is_per_thread)
    return answer(cudaErrorInvalidResourceHandle);
  if (stream->capture) {
    stream->capture->spoil();
    stream->capture->forget(*stream);
    if (stream->capture->is_origin(*stream)) rt.captures.erase(stream->capture);
  }
  rt.device(stream->device).streams.destroy(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  TROUPE_RUNTIME(rt);
  std::vector<node_ptr> all;
  if (auto refused = last_of(rt, handle, all); refused) return answer(refused);
  for (const auto& node : all) rt.wait(node);
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  TROUPE_RUNTIME(rt);
  std::vector<node_ptr> all;
  if (auto refused = last_of(rt, handle, all); refused) return answer(refused);
  const auto is_done = [&](const node_ptr& node) { return rt.look(node); };
  if (std::all_of(all.begin(), all.end(), is_done)) return cudaSuccess;
  let_others_run();
  rt.graph.run_ready();
  return std::all_of(all.begin(), all.end(), is_done) ? cudaSuccess : answer(cudaErrorNotReady);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t given, unsigned flags) {
  TROUPE_RUNTIME(rt);
  if (flags > cudaEventWaitExternal) return answer(cudaErrorInvalidValue);
  const std::lock_guard hold(rt.lock);
  auto* stream = rt.stream(handle);
  auto* event = reinterpret_cast<device_event*>(given);
  if (!stream || !rt.events.contains(event)) return answer(cudaErrorInvalidResourceHandle);
  if (event->capture && flags == 0) {
    if (!rt.captures.contains(event->capture)) return answer(cudaErrorCapturedEvent);
    if (stream->is_legacy) return answer(cudaErrorStreamCaptureImplicit);
    if (stream->capture && stream->capture != event->capture) {
      stream->capture->spoil();
      event->capture->spoil();
      return answer(cudaErrorStreamCaptureMerge);
    }
    stream_capture::join(event->capture, *stream, event->captured);
    return cudaSuccess;
  }
  if (stream->capture) {
    if (flags != cudaEventWaitExternal) {
      stream->capture->spoil();
      return answer(cudaErrorStreamCaptureIsolation);
    }
    return answer(not_supported("cudaStreamWaitEvent with cudaEventWaitExternal in a capture"));
  }
  if (!event->recorded) return cudaSuccess;
  auto after = rt.device(stream->device).streams.before(*stream);
  after.push_back(event->recorded);
  stream->tail = rt.graph.add({}, after);
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* argument) {
  TROUPE_RUNTIME(rt);
  if (!function) return answer(cudaErrorInvalidValue);
  plan_step step;
  step.what = plan_step::type::host;
  step.content = {work::kind::calls_host, 0, [=](const node_ptr&) { function(argument); }};
  return answer(rt.queue(handle, std::move(step)));
}

cudaError_t cudaStreamAddCallback(cudaStream_t handle, cudaStreamCallback_t function,
                                  void* argument, unsigned flags) {
  TROUPE_RUNTIME(rt);
  if (!function || flags != 0) return answer(cudaErrorInvalidValue);
  plan_step step;
  step.what = plan_step::type::host;
  step.content = {work::kind::calls_host, 0,
                  [=](const node_ptr&) { function(handle, cudaSuccess, argument); }};
  return answer(rt.queue(handle, std::move(step)));
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  return with_stream(handle, [&](device_stream& stream) {
    if (!flags) return cudaErrorInvalidValue;
    *flags = stream.flags;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  return with_stream(handle, [&](device_stream& stream) {
    if (!priority) return cudaErrorInvalidValue;
    *priority = stream.priority;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  return with_stream(handle, [&](device_stream& stream) {
    if (!id) return cudaErrorInvalidValue;
    *id = stream.id;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  return with_stream(handle, [&](device_stream& stream) {
    if (!device) return cudaErrorInvalidValue;
    *device = stream.device;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return begin_capture(handle, mode, std::make_shared<work_plan>(), {});
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t handle, cudaGraph_t graph,
                                          const cudaGraphNode_t* dependencies,
                                          const cudaGraphEdgeData*, std::size_t count,
                                          cudaStreamCaptureMode mode) {
  TROUPE_RUNTIME(rt);
  std::shared_ptr<work_plan> plan;
  std::vector<plan_step*> after;
  {
    const std::lock_guard hold(rt.lock);
    plan = graph_handles::plan(graph);
    if (!plan || !graph_handles::steps(*plan, dependencies, count, after))
      return answer(cudaErrorInvalidValue);
  }
  return begin_capture(handle, mode, std::move(plan), std::move(after));
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  TROUPE_RUNTIME(rt);
  const std::lock_guard hold(rt.lock);
  auto* stream = rt.stream(handle);
  if (!stream) return answer(cudaErrorInvalidResourceHandle);
  const auto capture = stream->capture;
  if (!graph || !capture) return answer(!graph ? cudaErrorInvalidValue : cudaErrorIllegalState);
  *graph = nullptr;
  if (!capture->is_origin(*stream)) {
    capture->spoil();
    return answer(cudaErrorStreamCaptureUnmatched);
  }
  if (capture->how() != stream_capture::mode::relaxed
      && capture->thread() != std::this_thread::get_id())
    return answer(cudaErrorStreamCaptureWrongThread);
  rt.captures.erase(capture);
  switch (capture->end()) {
    case stream_capture::ending::spoilt:
      return answer(cudaErrorStreamCaptureInvalidated);
    case stream_capture::ending::unjoined:
      return answer(cudaErrorStreamCaptureUnjoined);
    case stream_capture::ending::well:
      *graph = graph_handles::keep(capture->plan());
  }
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return with_stream(handle, [&](device_stream& stream) {
    if (!status) return cudaErrorInvalidValue;
    *status = status_of(stream);
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, std::size_t* count) {
  return with_stream(handle, [&](device_stream& stream) {
    if (!status) return cudaErrorInvalidValue;
    *status = status_of(stream);
    if (*status != cudaStreamCaptureStatusActive) return cudaSuccess;
    if (id) *id = stream.capture->id();
    if (graph) *graph = graph_handles::keep(stream.capture->plan());
    if (dependencies)
      *dependencies = reinterpret_cast<const cudaGraphNode_t*>(stream.captured_tail.data());
    if (edges) *edges = nullptr;
    if (count) *count = stream.captured_tail.size();
    return cudaSuccess;
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  if (!mode || *mode < cudaStreamCaptureModeGlobal || *mode > cudaStreamCaptureModeRelaxed)
    return answer(cudaErrorInvalidValue);
  std::swap(*mode, this_thread().capture_mode);
  return cudaSuccess;
}

}  // extern "C"
