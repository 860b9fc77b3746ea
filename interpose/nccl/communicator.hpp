// communicator: one member's end of an NCCL communicator.
//
// It is being made until its members have met (meeting.hpp); then it has its place among Troupe's
// communicators. Shared with the operations that are queued: destroying it leaves them be.
// Not here: operations (operation.hpp), groups (group.hpp), the calls (*_calls.cpp).
#pragma once

#include <nccl.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "interpose/cudart/troupe_device.h"
#include "interpose/nccl/meeting.hpp"
#include "messages/collective.hpp"

namespace troupe {

/// What ncclRedOpCreatePreMulSum made.
struct premultiplication {
  element_type type;
  std::vector<std::byte> scalar;    ///< given at once
  const void* on_device = nullptr;  ///< or read when an operation runs
};

class communicator : public std::enable_shared_from_this<communicator> {
 public:
  /// Announces this member of a meeting. `store_key` is all members'.
  static ncclResult_t begin(std::string store_key, const meeting_member& me, int device,
                            bool blocking, std::string name, std::shared_ptr<communicator>& made);
  ~communicator();

  /// Waits for the other members.
  ncclResult_t complete();
  /// Looks whether it is complete, or broken: what ncclCommGetAsyncError answers.
  ncclResult_t state();
  /// May it be used? Else the answer of the call.
  ncclResult_t usable();

  bool blocking() const { return blocking_; }
  /// False of one that ncclCommSplit left out.
  bool exists() const { return !group_.members.empty(); }
  int rank() const { return static_cast<int>(group_.rank); }
  int size() const { return static_cast<int>(group_.members.size()); }
  int device() const { return device_; }
  std::uint64_t id() const { return id_; }
  const std::vector<std::uint32_t>& members() const { return group_.members; }
  const std::string& store_key() const { return store_key_; }
  /// A key for the n-th meeting of this kind that begins from it.
  std::string key_for_child(const char* kind) {
    return store_key_ + "/" + kind + std::to_string(++children_[kind]);
  }
  troupe_device_order* order() { return order_; }

  /// An operation of it failed: its state from now on.
  void fail(ncclResult_t status, const std::string& why);
  /// Operations that are not done are given up; the other members can learn of it.
  void abort();
  bool is_aborted() const { return aborted_; }
  void finalize() { finalized_ = true; }

  /// A call that is under way, from before it is issued until it has ended.
  struct open_call {
    virtual ~open_call() = default;
    /// It is not waited for any more; nothing of the program's is touched when this returns.
    virtual void give_up() = 0;
  };
  /// Its next piece of work begins; the operations are then issued.
  void begin_piece();
  void issued(std::uint64_t operation);
  void enter(const std::shared_ptr<open_call>& call);
  void leave(const open_call* call);

  ncclRedOp_t add(premultiplication made);
  std::shared_ptr<const premultiplication> premultiplied(ncclRedOp_t op);
  bool drop(ncclRedOp_t op);

 private:
  communicator(std::string store_key, int device, bool blocking, std::string name);
  /// The program has waited for the first `count` pieces: edges of the graph.
  static void note_awaited(void* self, std::uint64_t count);
  ncclResult_t settle(const result<new_group>& met);

  const std::string store_key_;
  const int device_;
  const bool blocking_;
  const std::string name_;
  std::optional<meeting> meeting_;  ///< while it is being made
  new_group group_;
  std::uint64_t id_ = 0;
  std::map<std::string, int> children_;
  troupe_device_order* order_;

  std::mutex lock_;
  std::atomic<ncclResult_t> state_ = ncclInProgress;
  std::atomic<bool> aborted_ = false, finalized_ = false;
  std::map<const open_call*, std::shared_ptr<open_call>> open_;
  /// By piece, from the first that was not awaited on; and how many were.
  std::deque<std::vector<std::uint64_t>> pieces_;
  std::uint64_t awaited_ = 0;
  std::map<int, std::shared_ptr<const premultiplication>> premultiplications_;
  int next_op_ = ncclNumOps;
};

/// The sentence that ncclGetLastError answers, said on standard error too; returns the status.
ncclResult_t refuse(ncclResult_t status, const std::string& why);
const std::string& last_refusal();

}  // namespace troupe

struct ncclComm {
  std::shared_ptr<troupe::communicator> held;
};
