// posted_operation: one operation under way: it holds the tensors its result is laid into until the
// client says done.
//
// Shared by the program's Work and the client's callback, so that a Work dropped un-waited is still
// carried out. Invariants: done once; temporaries are copied back before it is; the future
// completes last and without our lock held, since its callbacks are the program's. Not here:
// torch's Work (work.hpp); what to post (backend.cpp).
#pragma once

#include <ATen/core/ivalue.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "interpose/torch/profile_event.hpp"
#include "interpose/torch/tensors.hpp"

namespace troupe {

class posted_operation : public std::enable_shared_from_this<posted_operation> {
 public:
  /// Posts the call. `what` names operation and rank in sentences, `site` the program's line; the
  /// event ends when it is done. Throws std::runtime_error.
  static std::shared_ptr<posted_operation> post(std::string what, std::uint64_t communicator,
                                                const troupe_call& call, const input_pieces& inputs,
                                                output_pieces outputs, profile_event event,
                                                const std::string& site);
  posted_operation(std::string what, output_pieces outputs, profile_event event)
      : what_(std::move(what)), outputs_(std::move(outputs)), event_(std::move(event)) {}

  /// Blocks until done; throws when it failed or `timeout` (0: none) passed, which leaves the
  /// operation as it is.
  void wait(std::chrono::milliseconds timeout);
  /// Done? When not, other ranks had a turn.
  bool test();
  bool done() const { return state_.load(std::memory_order_acquire) != pending; }
  /// Why it failed, once done; else nothing.
  std::exception_ptr failure() const;
  /// The sender's group rank of a recv, once done.
  int source() const { return source_; }
  const tensor_list& results() const { return outputs_.tensors(); }
  /// Has `next` called when it is done, in whatever thread learns that; now if it is.
  void then(std::function<void()> next);
  /// Completes with the list of results. Where waits on futures cannot be seen, the operation is
  /// awaited first.
  c10::intrusive_ptr<c10::ivalue::Future> future();

 private:
  static void when_done(void* argument, int status, const char* text, std::int32_t source);
  void finish(int status, const char* text, std::int32_t source);
  void complete(c10::ivalue::Future& future) const;
  void await_finish();

  enum state : int { pending, finished };
  const std::string what_;
  output_pieces outputs_;
  profile_event event_;  // until done
  std::uint64_t id_ = 0;
  std::atomic<int> state_{pending};
  std::string why_;  // written before state_, empty: well
  int source_ = -1;
  std::mutex future_mutex_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  std::function<void()> next_;
};

}  // namespace troupe
