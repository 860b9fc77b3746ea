#include "interpose/torch/posted_operation.hpp"

#include <stdexcept>

#include "interpose/torch/gil.hpp"
#include "interpose/torch/watched_futures.hpp"

namespace troupe {

using c10::ivalue::Future;

std::shared_ptr<posted_operation> posted_operation::post(std::string what,
                                                         std::uint64_t communicator,
                                                         const troupe_call& call,
                                                         const input_pieces& inputs,
                                                         output_pieces outputs, profile_event event,
                                                         const std::string& site) {
  auto posted =
      std::make_shared<posted_operation>(std::move(what), std::move(outputs), std::move(event));
  auto* held = new std::shared_ptr<posted_operation>(posted);  // the callback's
  without_gil unlocked;
  auto status = troupe_issue(
      communicator, &call, inputs.list().data(), static_cast<std::uint32_t>(inputs.list().size()),
      posted->outputs_.list().data(), static_cast<std::uint32_t>(posted->outputs_.list().size()),
      site.empty() ? nullptr : site.c_str(), &when_done, held, &posted->id_);
  if (status == 0) return posted;
  delete held;  // a call refused is not called back
  throw std::runtime_error(posted->what_ + ": " + troupe_error());
}

void posted_operation::when_done(void* argument, int status, const char* text,
                                 std::int32_t source) {
  std::unique_ptr<std::shared_ptr<posted_operation>> held(
      static_cast<std::shared_ptr<posted_operation>*>(argument));
  (*held)->finish(status, text, source);
}

void posted_operation::finish(int status, const char* text, std::int32_t source) {
  source_ = source;
  if (status != 0) {
    why_ = what_ + ": " + (text && *text ? text : "failed");
  } else {
    try {
      outputs_.copy_back();
    } catch (const std::exception& failed) {
      why_ = what_ + ": the result could not be laid into its tensors: " + failed.what();
    }
  }
  event_.reset();  // who waited may end the profile
  c10::intrusive_ptr<Future> waiting;
  std::function<void()> next;
  {
    std::lock_guard lock(future_mutex_);
    state_.store(finished, std::memory_order_release);
    waiting = future_;
    next.swap(next_);
  }
  state_.notify_all();
  if (next) next();
  if (!waiting) return;
  complete(*waiting);
  forget_watched(id_);
}

void posted_operation::then(std::function<void()> next) {
  {
    std::lock_guard lock(future_mutex_);
    if (!done()) {
      next_ = std::move(next);
      return;
    }
  }
  next();
}

void posted_operation::complete(Future& future) const {
  if (auto why = failure())
    future.setError(why);
  else
    future.markCompleted(c10::IValue(results()));
}

std::exception_ptr posted_operation::failure() const {
  if (!done() || why_.empty()) return nullptr;
  return std::make_exception_ptr(std::runtime_error(why_));
}

/// The client's word may come before its callback has returned in another thread.
void posted_operation::await_finish() {
  while (!done()) state_.wait(pending, std::memory_order_acquire);
}

void posted_operation::wait(std::chrono::milliseconds timeout) {
  {
    without_gil unlocked;
    auto limit = std::chrono::nanoseconds(timeout).count();
    auto status = troupe_wait(id_, limit > 0 ? static_cast<std::uint64_t>(limit) : 0);
    if (status == static_cast<int>(errc::timed_out) && !done())
      throw std::runtime_error(what_ + ": " + troupe_error());
    await_finish();
  }
  if (!why_.empty()) throw std::runtime_error(why_);
}

bool posted_operation::test() {
  without_gil unlocked;
  int complete = 0;
  if (troupe_test(id_, &complete) != 0) complete = 1;  // the failure is the operation's
  if (complete) await_finish();
  return complete != 0;
}

c10::intrusive_ptr<Future> posted_operation::future() {
  without_gil unlocked;
  bool seen = waits_on_futures_are_seen();
  if (!seen && !done()) {
    troupe_wait(id_, 0);
    await_finish();
  }
  c10::intrusive_ptr<Future> made;
  bool at_once = false;
  {
    std::lock_guard lock(future_mutex_);
    if (future_) return future_;
    made = future_ = c10::make_intrusive<Future>(c10::ListType::create(c10::TensorType::get()));
    at_once = done();
  }
  watch_future(id_, *made);  // also when it is done: that it was taken is an edge of the graph
  if (at_once) complete(*made);
  if (done()) forget_watched(id_);  // it may have finished before it was watched
  return made;
}

}  // namespace troupe
