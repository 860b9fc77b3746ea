// work: torch's handle of a posted operation.
//
// Not here: the operation itself (posted_operation.hpp), which lives on when the handle is dropped.
#pragma once

#include <torch/csrc/distributed/c10d/Work.hpp>

#include "interpose/torch/posted_operation.hpp"

namespace troupe {

class work : public c10d::Work {
 public:
  /// `timeout`: the operation's own, when wait() is given none.
  work(int rank, c10d::OpType type, std::shared_ptr<posted_operation> posted,
       std::chrono::milliseconds timeout)
      : c10d::Work(rank, type), posted_(std::move(posted)), timeout_(timeout) {}

  /// Lets other ranks run when it is not.
  bool isCompleted() override { return posted_->test(); }
  bool isSuccess() const override { return posted_->done() && !posted_->failure(); }
  std::exception_ptr exception() const override { return posted_->failure(); }
  int sourceRank() const override { return posted_->source(); }
  std::vector<at::Tensor> result() override { return posted_->results(); }
  void synchronize() override { posted_->wait(timeout_); }
  bool wait(std::chrono::milliseconds timeout) override {
    posted_->wait(timeout == kNoTimeout ? timeout_ : timeout);
    return true;
  }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return posted_->future(); }

 private:
  std::shared_ptr<posted_operation> posted_;
  std::chrono::milliseconds timeout_;
};

}  // namespace troupe
