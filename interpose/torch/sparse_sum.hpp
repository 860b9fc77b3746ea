// sparse_sum: the Work of gloo's all_reduce of a sparse tensor.
//
// How many entries each member has is gathered first, the entries then. The second operation is
// posted when the first is done, by whoever notices that, so that nobody blocks in the call; in the
// order of the calls (sparse_sums), and over a communicator of its own, whatever else the program
// posts meanwhile. Sums are made in rank order, as gloo makes them. The handle may be dropped: the
// operations hold it until it is done. Not here: which calls are possible (backend_sparse.cpp).
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>

#include <torch/csrc/distributed/c10d/Work.hpp>

#include "interpose/torch/posted_operation.hpp"

namespace troupe {

class sparse_sums;

class sparse_sum : public c10d::Work {
 public:
  using operation_ptr = std::shared_ptr<posted_operation>;
  /// Gathers every member's part into the whole; `site` is where the program asked for the sum.
  using gatherer =
      std::function<operation_ptr(at::Tensor& whole, at::Tensor& part, const std::string& site)>;

  /// Begins it: adds up `tensor`, which every member has, and lays the sum into it.
  static c10::intrusive_ptr<sparse_sum> begin(int rank, int size, const std::string& what,
                                              const at::Tensor& tensor, profile_event event,
                                              std::chrono::milliseconds timeout,
                                              const gatherer& gather_counts,
                                              const std::shared_ptr<sparse_sums>& order);
  sparse_sum(int rank, int size, const std::string& what, const at::Tensor& tensor,
             profile_event event, std::chrono::milliseconds timeout,
             std::shared_ptr<sparse_sums> order);

  /// Lets other ranks run when it is not.
  bool isCompleted() override;
  bool isSuccess() const override { return is_finished() && !why_; }
  std::exception_ptr exception() const override { return is_finished() ? why_ : nullptr; }
  std::vector<at::Tensor> result() override { return {tensor_}; }
  void synchronize() override { wait(timeout_); }
  bool wait(std::chrono::milliseconds timeout) override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  /// Of torch 2.
  std::chrono::milliseconds getTimeout() const { return timeout_; }

 private:
  friend class sparse_sums;
  enum state : int { counting, gathering, finished };

  bool is_finished() const { return state_.load(std::memory_order_acquire) == finished; }
  bool is_counted() const { return counts_->done(); }
  at::Tensor numbers() const;
  /// What became of it is told by follow_up, without anybody's lock.
  void gather_entries(const gatherer& gather);
  void follow_up();
  void require_alike() const;
  void lay_out_entries();
  at::Tensor entries_of(int member) const;
  void add_up();
  void finish(std::exception_ptr why);

  const int size_;
  const std::string what_, site_;
  const std::chrono::milliseconds timeout_;
  const std::shared_ptr<sparse_sums> order_;
  at::Tensor tensor_, own_;  ///< the program's, and the same coalesced
  profile_event event_;
  at::Tensor row_, rows_;    ///< numbers: its own, and all members'
  at::Tensor part_, whole_;  ///< bytes of the entries, as many a member as who has most needs
  operation_ptr counts_, entries_;
  std::mutex mutex_;
  bool is_watched_ = false;  ///< somebody has the future
  const c10::intrusive_ptr<c10::ivalue::Future> future_;
  std::atomic<int> state_{counting};
  std::exception_ptr why_;  // written before state_
};

/// Those of one group that are not gathering their entries yet, in the order of the calls.
class sparse_sums {
 public:
  explicit sparse_sums(sparse_sum::gatherer gather_entries) : gather_(std::move(gather_entries)) {}
  void add(const c10::intrusive_ptr<sparse_sum>& one);
  /// Posts the entries of those that are counted, up to the first that is not.
  void proceed();
  /// While that one is not gathering and its turn has not come: what the first of all waits for.
  sparse_sum::operation_ptr ahead_of(const sparse_sum& one);

 private:
  const sparse_sum::gatherer gather_;
  std::mutex mutex_;
  std::deque<c10::intrusive_ptr<sparse_sum>> counted_next_;
};

}  // namespace troupe
