#include "interpose/cudart/work_graph.hpp"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "messages/assert.hpp"

namespace troupe {

work_graph::~work_graph() {
  {
    const std::lock_guard hold(lock_);
    ending_ = true;
    worker_wanted_.notify_all();
  }
  if (worker_.joinable()) worker_.join();
}

void work_node::cover(const std::shared_ptr<work_order>& order, std::uint64_t count) {
  for (auto& [known, so_far] : covers_)
    if (known == order) {
      so_far = std::max(so_far, count);
      return;
    }
  covers_.emplace_back(order, count);
}

node_ptr work_graph::add(work what, std::span<const node_ptr> after,
                         const std::shared_ptr<work_order>& order) {
  auto node = std::make_shared<work_node>();
  node->begin_ns_ = outside_.now_ns();
  node->what_ = std::move(what);
  const std::lock_guard hold(lock_);
  if (node->what_.what == work::kind::starts || node->what_.what == work::kind::calls_host)
    need_worker();
  const auto comes_after = [&](const node_ptr& one) {
    if (!one) return;
    for (const auto& [of, count] : one->covers_)
      if (count > of->awaited) node->cover(of, count);
    if (one->is_done()) {
      node->begin_ns_ = std::max(node->begin_ns_, one->end_ns_);
      return;
    }
    one->before_.push_back(node);
    ++node->lacks_;
  };
  for (const auto& one : after) comes_after(one);
  if (order) {
    comes_after(std::exchange(order->tail, node));
    node->cover(order, ++order->count);
  }
  if (node->lacks_ == 0) make_ready(node);
  return node;
}

void work_graph::finish(const node_ptr& node) {
  locked hold(lock_);
  complete(node);
  hand_on();
}

void work_graph::make_ready(const node_ptr& node) {
  if (node->what_.what == work::kind::marks) return complete(node);
  if (node->what_.what == work::kind::calls_host) {
    host_calls_.push_back(node);
    worker_wanted_.notify_all();
    return;
  }
  ready_.push_back(node);
}

/// A long chain of markers must not become a deep recursion.
void work_graph::complete(const node_ptr& first) {
  std::vector<node_ptr> through{first};
  while (!through.empty()) {
    const auto node = std::move(through.back());
    through.pop_back();
    TROUPE_ASSERT(!node->is_done());
    node->end_ns_ = node->begin_ns_ + node->what_.duration_ns;
    if (node->what_.what == work::kind::starts || node->what_.what == work::kind::calls_host)
      node->end_ns_ = std::max(node->end_ns_, outside_.now_ns());
    node->what_.run = nullptr;
    node->done_.store(true, std::memory_order_release);
    for (auto& next : std::exchange(node->before_, {})) {
      next->begin_ns_ = std::max(next->begin_ns_, node->end_ns_);
      if (--next->lacks_ > 0) continue;
      if (next->what_.what == work::kind::marks)
        through.push_back(std::move(next));
      else
        make_ready(next);
    }
  }
  changed_.notify_all();
}

void work_graph::hand_on() {
  if (ready_.empty()) return;
  if (waiting_ > 0)
    changed_.notify_all();
  else
    worker_wanted_.notify_all();
}

void work_graph::run(locked& hold, const node_ptr& node) {
  const bool starts = node->what_.what == work::kind::starts;
  const auto run = std::move(node->what_.run);
  hold.unlock();
  if (run) run(node);
  hold.lock();
  if (!starts) complete(node);
}

bool work_graph::run_one(locked& hold) {
  if (ready_.empty()) return false;
  const auto node = std::move(ready_.front());
  ready_.pop_front();
  run(hold, node);
  return true;
}

void work_graph::run_ready() {
  locked hold(lock_);
  while (run_one(hold)) {
  }
}

void work_graph::wait(const node_ptr& node) {
  locked hold(lock_);
  while (!node->is_done()) {
    if (run_one(hold)) continue;
    ++waiting_;
    changed_.wait(hold);
    --waiting_;
  }
  hand_on();
}

void work_graph::need_worker() {
  if (worker_.joinable()) return;
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the program's own threads'
  worker_ = std::thread([this] { work_alone(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void work_graph::work_alone() {
  outside_.worker_begins();
  locked hold(lock_);
  while (!ending_) {
    if (!host_calls_.empty()) {
      const auto node = std::move(host_calls_.front());
      host_calls_.pop_front();
      run(hold, node);
      continue;
    }
    if (waiting_ == 0 && run_one(hold)) continue;
    worker_wanted_.wait(hold);
  }
}

}  // namespace troupe
