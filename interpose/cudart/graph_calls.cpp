// graph_calls: cudart's calls about graphs: made by capture or by hand, instantiated, launched.
//
// Not here: handles (graph_handles.hpp); nodes' parameters are not kept, and cannot be asked for
// or changed.
#include <algorithm>

#include "interpose/cudart/copies.hpp"
#include "interpose/cudart/graph_handles.hpp"
#include "interpose/cudart/launches.hpp"

using namespace troupe;

namespace {

cudaGraphNode_t handle_of(plan_step* step) { return reinterpret_cast<cudaGraphNode_t>(step); }

/// Adds the step to the graph, after these nodes.
cudaError_t add_step(device_runtime& rt, cudaGraphNode_t* made, cudaGraph_t graph,
                     const cudaGraphNode_t* after, std::size_t count, plan_step step) {
  const std::lock_guard hold(rt.lock);
  const auto plan = graph_handles::plan(graph);
  std::vector<plan_step*> before;
  if (!made || !plan || !graph_handles::steps(*plan, after, count, before))
    return cudaErrorInvalidValue;
  step.after.insert(before.begin(), before.end());
  *made = handle_of(&plan->add(std::move(step)));
  return cudaSuccess;
}

/// Writes as many as there is room for; without an array says how many there are.
cudaError_t list(const std::vector<plan_step*>& all, cudaGraphNode_t* nodes, std::size_t* count) {
  if (!count) return cudaErrorInvalidValue;
  if (!nodes) {
    *count = all.size();
    return cudaSuccess;
  }
  for (std::size_t n = 0; n < *count; ++n) nodes[n] = n < all.size() ? handle_of(all[n]) : nullptr;
  *count = std::min(*count, all.size());
  return cudaSuccess;
}

template <class Wanted>
cudaError_t list_steps(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count,
                       Wanted wanted) {
  TROUPE_RUNTIME(rt);
  const std::lock_guard hold(rt.lock);
  const auto plan = graph_handles::plan(graph);
  if (!plan) return answer(cudaErrorInvalidValue);
  std::vector<plan_step*> all;
  for (auto& step : plan->steps())
    if (wanted(step)) all.push_back(&step);
  return answer(list(all, nodes, count));
}

cudaError_t instantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long flags) {
  TROUPE_RUNTIME(rt);
  const std::lock_guard hold(rt.lock);
  const auto plan = graph_handles::plan(graph);
  if (!made || !plan) return answer(cudaErrorInvalidValue);
  auto ready = plan->executable();
  if (!ready) return answer(cudaErrorInvalidValue);
  ready->flags = static_cast<unsigned>(flags);
  *made = graph_handles::keep(std::move(*ready));
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  TROUPE_RUNTIME(rt);
  if (!graph || flags != 0) return answer(cudaErrorInvalidValue);
  const std::lock_guard hold(rt.lock);
  *graph = graph_handles::keep(std::make_shared<work_plan>());
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  TROUPE_RUNTIME(rt);
  const std::lock_guard hold(rt.lock);
  return graph_handles::drop(graph) ? cudaSuccess : answer(cudaErrorInvalidValue);
}
cudaError_t cudaGraphClone(cudaGraph_t* copy, cudaGraph_t graph) {
  TROUPE_RUNTIME(rt);
  const std::lock_guard hold(rt.lock);
  const auto plan = graph_handles::plan(graph);
  if (!copy || !plan) return answer(cudaErrorInvalidValue);
  auto made = std::make_shared<work_plan>();
  made->add_all(*plan);
  *copy = graph_handles::keep(std::move(made));
  return cudaSuccess;
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* made, cudaGraph_t graph,
                                  const cudaGraphNode_t* after, std::size_t count) {
  TROUPE_RUNTIME(rt);
  return answer(add_step(rt, made, graph, after, count, {}));
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* made, cudaGraph_t graph,
                                 const cudaGraphNode_t* after, std::size_t count,
                                 const cudaHostNodeParams* what) {
  TROUPE_RUNTIME(rt);
  if (!what || !what->fn) return answer(cudaErrorInvalidValue);
  plan_step step;
  step.what = plan_step::type::host;
  step.content = {work::kind::calls_host, 0,
                  [call = *what](const node_ptr&) { call.fn(call.userData); }};
  return answer(add_step(rt, made, graph, after, count, std::move(step)));
}
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* made, cudaGraph_t graph,
                                   const cudaGraphNode_t* after, std::size_t count,
                                   const cudaKernelNodeParams* what) {
  TROUPE_RUNTIME(rt);
  if (!what) return answer(cudaErrorInvalidValue);
  plan_step step;
  if (auto wrong = make_launch_step(rt, what->func, what->gridDim, what->blockDim,
                                    what->kernelParams, what->sharedMemBytes, step);
      wrong)
    return answer(wrong);
  return answer(add_step(rt, made, graph, after, count, std::move(step)));
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* made, cudaGraph_t graph,
                                     const cudaGraphNode_t* after, std::size_t count, void* to,
                                     const void* from, std::size_t size, cudaMemcpyKind kind) {
  TROUPE_RUNTIME(rt);
  plan_step step;
  if (auto wrong = make_copy_step(rt, {to, size, from, size, size}, kind, step); wrong)
    return answer(wrong);
  return answer(add_step(rt, made, graph, after, count, std::move(step)));
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* made, cudaGraph_t graph,
                                   const cudaGraphNode_t* after, std::size_t count,
                                   const cudaMemsetParams* what) {
  TROUPE_RUNTIME(rt);
  if (!what || what->height == 0) return answer(cudaErrorInvalidValue);
  if (what->elementSize != 1)
    return not_supported("cudaGraphAddMemsetNode of elements of several bytes");
  const auto pitch = what->height == 1 ? what->width : what->pitch;
  plan_step step;
  if (auto wrong =
          make_fill_step(rt, {what->dst, pitch, what->value, what->width, what->height}, step);
      wrong)
    return answer(wrong);
  return answer(add_step(rt, made, graph, after, count, std::move(step)));
}
/// The child's steps become the graph's own, between two empty ones.
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* made, cudaGraph_t graph,
                                       const cudaGraphNode_t* after, std::size_t count,
                                       cudaGraph_t child) {
  TROUPE_RUNTIME(rt);
  cudaGraphNode_t first = nullptr;
  if (auto wrong = add_step(rt, &first, graph, after, count, {}); wrong) return answer(wrong);
  const std::lock_guard hold(rt.lock);
  const auto plan = graph_handles::plan(graph), inner = graph_handles::plan(child);
  if (!made || !inner || inner == plan) return answer(cudaErrorInvalidValue);
  plan_step last;
  last.what = plan_step::type::child;
  last.after = {reinterpret_cast<plan_step*>(first)};
  for (auto* step : plan->add_all(*inner)) {
    if (step->after.empty()) step->after.insert(reinterpret_cast<plan_step*>(first));
    last.after.insert(step);
  }
  *made = handle_of(&plan->add(std::move(last)));
  return cudaSuccess;
}
cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  TROUPE_RUNTIME(rt);
  const std::lock_guard hold(rt.lock);
  const auto plan = graph_handles::plan_of(node);
  if (!plan) return answer(cudaErrorInvalidValue);
  plan->remove(*reinterpret_cast<plan_step*>(node));
  return cudaSuccess;
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, const cudaGraphEdgeData*,
                                     std::size_t count) {
  TROUPE_RUNTIME(rt);
  const std::lock_guard hold(rt.lock);
  const auto plan = graph_handles::plan(graph);
  std::vector<plan_step*> before, after;
  if (!plan || !graph_handles::steps(*plan, from, count, before)
      || !graph_handles::steps(*plan, to, count, after))
    return answer(cudaErrorInvalidValue);
  for (std::size_t n = 0; n < count; ++n) after[n]->after.insert(before[n]);
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  return list_steps(graph, nodes, count, [](const plan_step&) { return true; });
}
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  return list_steps(graph, nodes, count, [](const plan_step& step) { return step.after.empty(); });
}
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                                         cudaGraphEdgeData* edges, std::size_t* count) {
  TROUPE_RUNTIME(rt);
  const std::lock_guard hold(rt.lock);
  if (!graph_handles::plan_of(node) || edges) return answer(cudaErrorInvalidValue);
  const auto& after = reinterpret_cast<plan_step*>(node)->after;
  return answer(list({after.begin(), after.end()}, nodes, count));
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  TROUPE_RUNTIME(rt);
  const std::lock_guard hold(rt.lock);
  if (!type || !graph_handles::plan_of(node)) return answer(cudaErrorInvalidValue);
  constexpr cudaGraphNodeType types[] = {cudaGraphNodeTypeKernel, cudaGraphNodeTypeMemcpy,
                                         cudaGraphNodeTypeMemset, cudaGraphNodeTypeHost,
                                         cudaGraphNodeTypeGraph,  cudaGraphNodeTypeEmpty};
  *type = types[static_cast<std::size_t>(reinterpret_cast<plan_step*>(node)->what)];
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph,
                                 unsigned long long flags) {
  return instantiate(made, graph, flags);
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* made, cudaGraph_t graph,
                                          unsigned long long flags) {
  return instantiate(made, graph, flags);
}
cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t made, unsigned long long* flags) {
  TROUPE_RUNTIME(rt);
  const std::lock_guard hold(rt.lock);
  const auto* found = graph_handles::executable(made);
  if (!flags || !found) return answer(cudaErrorInvalidValue);
  *flags = found->flags;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t made) {
  TROUPE_RUNTIME(rt);
  const std::lock_guard hold(rt.lock);
  return graph_handles::drop(made) ? cudaSuccess : answer(cudaErrorInvalidValue);
}
cudaError_t cudaGraphUpload(cudaGraphExec_t made, cudaStream_t) {
  TROUPE_RUNTIME(rt);
  const std::lock_guard hold(rt.lock);
  return graph_handles::executable(made) ? cudaSuccess : answer(cudaErrorInvalidValue);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t made, cudaStream_t handle) {
  TROUPE_RUNTIME(rt);
  {
    const std::lock_guard hold(rt.lock);
    const auto* ready = graph_handles::executable(made);
    auto* stream = rt.stream(handle);
    if (!ready || !stream)
      return answer(ready ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);
    if (stream->capture) {
      stream->capture->spoil();
      return not_supported("cudaGraphLaunch on a captured stream");
    }
    auto& streams = rt.device(stream->device).streams;
    if (stream->is_legacy && streams.captures_blocking())
      return answer(cudaErrorStreamCaptureImplicit);
    stream->tail = ready->queue(rt.graph, streams.before(*stream));
  }
  rt.graph.run_ready();
  return cudaSuccess;
}

}  // extern "C"
