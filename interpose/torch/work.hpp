// work: torch's handle of posted operations: of one, or of several that the program waits for
// together (a coalesced batch, a call that is several of ours).
//
// Not here: the operations themselves (posted_operation.hpp), which live on when the handle is
// dropped.
#pragma once

#include <torch/csrc/distributed/c10d/Work.hpp>

#include "interpose/torch/posted_operation.hpp"

namespace troupe {

class work : public c10d::Work {
 public:
  using parts = std::vector<std::shared_ptr<posted_operation>>;

  /// `timeout`: the operations' own, when wait() is given none.
  work(int rank, c10d::OpType type, parts posted, std::chrono::milliseconds timeout)
      : c10d::Work(rank, type), posted_(std::move(posted)), timeout_(timeout) {}

  /// Lets other ranks run when one of them is not.
  bool isCompleted() override;
  bool isSuccess() const override;
  /// Of the first that failed.
  std::exception_ptr exception() const override;
  int sourceRank() const override { return posted_.size() == 1 ? posted_.front()->source() : -1; }
  std::vector<at::Tensor> result() override { return results(); }
  void synchronize() override { await_all(timeout_); }
  bool wait(std::chrono::milliseconds timeout) override;
  /// Completes with the results of all.
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  /// Of torch 2.
  std::chrono::milliseconds getTimeout() const { return timeout_; }

  const parts& posted() const { return posted_; }

 private:
  tensor_list results() const;
  void await_all(std::chrono::milliseconds timeout);

  parts posted_;
  std::chrono::milliseconds timeout_;
};

}  // namespace troupe
