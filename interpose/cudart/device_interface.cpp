// device_interface: troupe_device.h's functions.
#include "interpose/cudart/run_link.hpp"
#include "interpose/cudart/runtime.hpp"
#include "interpose/cudart/troupe_device.h"

using namespace troupe;

struct troupe_device_node {
  device_runtime& rt;
  node_ptr node;
};

struct troupe_device_order {
  struct guard {
    std::mutex held;
    bool dropped = false;
  };
  std::shared_ptr<work_order> order = std::make_shared<work_order>();
  std::shared_ptr<guard> awaited_lock = std::make_shared<guard>();
};

extern "C" int troupe_call_is_missing(const char* name) { return not_supported(name); }

int troupe_device_current() {
  device_runtime* rt = nullptr;
  if (auto none = device_runtime::find(rt); none) return -static_cast<int>(none);
  return rt->current().ordinal;
}

int troupe_device_on_host(int device) {
  device_runtime* rt = nullptr;
  if (auto none = device_runtime::find(rt); none) return -static_cast<int>(none);
  return rt->has_device(device) ? rt->device(device).host_ordinal
                                : -static_cast<int>(cudaErrorInvalidDevice);
}

int troupe_device_queue(void* const* streams, int count, const troupe_device_work* given) {
  auto work_ended = std::shared_ptr<const troupe_device_work>(new troupe_device_work(*given),
                                                              [](const troupe_device_work* work) {
                                                                work->release(work->argument);
                                                                delete work;
                                                              });
  TROUPE_RUNTIME(rt);
  plan_step step;
  step.what = plan_step::type::kernel;
  if (given->order) step.order = given->order->order;
  step.content = {work::kind::starts, 0, [&rt, work = std::move(work_ended)](const node_ptr& node) {
                    work->start(work->argument, new troupe_device_node{rt, node});
                  }};
  std::vector<cudaStream_t> on;
  for (int n = 0; n < count; ++n) on.push_back(static_cast<cudaStream_t>(streams[n]));
  return answer(rt.queue(on, std::move(step), nullptr));
}

void troupe_device_finish(troupe_device_node* node) {
  node->rt.graph.finish(node->node);
  delete node;
}

troupe_device_order* troupe_device_make_order(void (*awaited)(void*, std::uint64_t),
                                              void* argument) {
  auto made = std::make_unique<troupe_device_order>();
  made->order->on_awaited = [=, lock = made->awaited_lock](std::uint64_t count) {
    const std::lock_guard hold(lock->held);
    if (!lock->dropped) awaited(argument, count);
  };
  return made.release();
}

void troupe_device_drop_order(troupe_device_order* order) {
  {
    const std::lock_guard hold(order->awaited_lock->held);
    order->awaited_lock->dropped = true;
  }
  device_runtime* rt = nullptr;
  if (device_runtime::find(rt) == cudaSuccess) {
    const std::lock_guard hold(rt->lock);
    order->order->tail = nullptr;  // which knows the order
  }
  delete order;
}

namespace {

node_ptr last_of(device_runtime& rt, troupe_device_order* order) {
  const std::lock_guard hold(rt.lock);
  return order->order->tail;
}

}  // namespace

void troupe_device_wait_for(troupe_device_order* order) {
  device_runtime* rt = nullptr;
  if (device_runtime::find(rt) != cudaSuccess) return;
  rt->wait(last_of(*rt, order));
}

int troupe_device_is_idle(troupe_device_order* order) {
  device_runtime* rt = nullptr;
  if (device_runtime::find(rt) != cudaSuccess) return 1;
  const auto last = last_of(*rt, order);
  if (rt->look(last)) return 1;
  let_others_run();
  rt->graph.run_ready();
  return rt->look(last);
}
