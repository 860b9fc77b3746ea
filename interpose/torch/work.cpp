#include "interpose/torch/work.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "interpose/torch/watched_futures.hpp"

namespace troupe {

using c10::ivalue::Future;
using namespace std::chrono_literals;

bool work::isCompleted() {
  for (auto& each : posted_)
    if (!each->test()) return false;
  return true;
}

bool work::isSuccess() const {
  for (auto& each : posted_)
    if (!each->done() || each->failure()) return false;
  return true;
}

std::exception_ptr work::exception() const {
  for (auto& each : posted_)
    if (auto why = each->failure()) return why;
  return nullptr;
}

bool work::wait(std::chrono::milliseconds timeout) {
  await_all(timeout == kNoTimeout ? timeout_ : timeout);
  return true;
}

/// They have the time together. A timeout of 0 is none.
void work::await_all(std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  for (auto& each : posted_) {
    each->wait(timeout);
    if (timeout > kNoTimeout)
      timeout = std::max(1ms, std::chrono::duration_cast<std::chrono::milliseconds>(
                                  end - std::chrono::steady_clock::now()));
  }
}

tensor_list work::results() const {
  tensor_list all;
  for (auto& each : posted_) all.insert(all.end(), each->results().begin(), each->results().end());
  return all;
}

c10::intrusive_ptr<Future> work::getFuture() {
  if (posted_.size() == 1) return posted_.front()->future();
  auto joined = c10::make_intrusive<Future>(c10::ListType::create(c10::TensorType::get()));
  auto finish = [joined, posted = posted_, all = results()] {
    for (auto& each : posted)
      if (auto why = each->failure()) return joined->setError(why);
    joined->markCompleted(c10::IValue(all));
  };
  if (posted_.empty()) {
    finish();
    return joined;
  }
  auto left = std::make_shared<std::atomic<std::size_t>>(posted_.size());
  std::vector<c10::intrusive_ptr<Future>> futures;
  for (auto& each : posted_) {
    futures.push_back(each->future());
    watch_child(*futures.back(), *joined);
  }
  for (auto& future : futures)
    future->addCallback([left, finish](Future&) {
      if (--*left == 0) finish();
    });
  return joined;
}

}  // namespace troupe
