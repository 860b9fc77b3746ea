#include "interpose/nccl/communicator.hpp"

#include <cstdio>
#include <utility>

#include "interpose/client/troupe_client.h"
#include "interpose/nccl/settings.hpp"

namespace troupe {
namespace {

std::string& refusal() {
  static auto* text = new std::string;
  return *text;
}
std::mutex refusal_lock;

}  // namespace

ncclResult_t refuse(ncclResult_t status, const std::string& why) {
  const std::lock_guard hold(refusal_lock);
  if (std::exchange(refusal(), why) != why) std::fprintf(stderr, "troupe: NCCL: %s\n", why.c_str());
  return status;
}

const std::string& last_refusal() {
  const std::lock_guard hold(refusal_lock);
  return refusal();
}

communicator::communicator(std::string store_key, int device, bool blocking, std::string name)
    : store_key_(std::move(store_key)),
      device_(device),
      blocking_(blocking),
      name_(std::move(name)),
      order_(troupe_device_make_order(note_awaited, this)) {}

communicator::~communicator() { troupe_device_drop_order(order_); }

ncclResult_t communicator::begin(std::string store_key, const meeting_member& me, int device,
                                 bool blocking, std::string name,
                                 std::shared_ptr<communicator>& made) {
  std::shared_ptr<communicator> fresh(
      new communicator(store_key, device, blocking, std::move(name)));
  auto announced = meeting::announce(std::move(store_key), me);
  if (!announced) return refuse(ncclSystemError, "no communicator: " + announced.error().context);
  fresh->meeting_ = std::move(*announced);
  made = std::move(fresh);
  return ncclSuccess;
}

ncclResult_t communicator::complete() {
  if (state_ != ncclInProgress) return state_;
  return settle(meeting_->await());
}

ncclResult_t communicator::settle(const result<new_group>& met) {
  const auto broken = [&](ncclResult_t status, const std::string& why) {
    state_ = status;
    return refuse(status, "no communicator: " + why);
  };
  if (!met)
    return broken(met.error().code == errc::bad_input ? ncclInvalidUsage : ncclSystemError,
                  met.error().context);
  group_ = *met;
  if (exists()
      && troupe_open_communicator_as(group_.members.data(),
                                     static_cast<std::uint32_t>(group_.members.size()),
                                     group_.ordinal, static_cast<std::uint8_t>(semantics::nccl),
                                     name_.c_str(), group_.companion, &id_)
             != 0)
    return broken(ncclSystemError, troupe_error());
  meeting_.reset();
  return state_ = ncclSuccess;
}

ncclResult_t communicator::state() {
  if (state_ == ncclInProgress) {
    const auto ready = meeting_->is_ready();
    if (ready && !*ready) {
      troupe_yield();
      return ncclInProgress;
    }
    return ready ? complete() : settle(ready.error());
  }
  // Whoever polls lets time advance.
  if (state_ == ncclSuccess && !aborted_ && exists()) troupe_device_is_idle(order_);
  return state_;
}

ncclResult_t communicator::usable() {
  if (state_ == ncclInProgress && blocking_) return ncclInternalError;  // complete() comes first
  if (state_ == ncclInProgress && state() == ncclInProgress)
    return refuse(ncclInvalidArgument,
                  "a communicator is used before ncclCommGetAsyncError said that it is ready");
  if (aborted_ || finalized_)
    return refuse(ncclInvalidUsage, "a communicator is used after it was finalized or aborted");
  return state_;
}

void communicator::fail(ncclResult_t status, const std::string& why) {
  auto well = ncclSuccess;
  if (state_.compare_exchange_strong(well, status))
    refuse(status, why + "; its streams go on when this member aborts the communicator");
}

void communicator::abort() {
  std::map<const open_call*, std::shared_ptr<open_call>> open;
  {
    const std::lock_guard hold(lock_);
    if (aborted_.exchange(true)) return;
    open = open_;
  }
  if (state_ != ncclInProgress && exists()) troupe_abort_communicator(id_);
  for (auto& [at, call] : open) call->give_up();
}

void communicator::begin_piece() {
  const std::lock_guard hold(lock_);
  pieces_.emplace_back();
}

void communicator::issued(std::uint64_t operation) {
  const std::lock_guard hold(lock_);
  if (!pieces_.empty()) pieces_.back().push_back(operation);
}

void communicator::note_awaited(void* self, std::uint64_t count) {
  auto& me = *static_cast<communicator*>(self);
  std::vector<std::uint64_t> operations;
  {
    const std::lock_guard hold(me.lock_);
    for (; me.awaited_ < count && !me.pieces_.empty(); ++me.awaited_) {
      const auto& piece = me.pieces_.front();
      operations.insert(operations.end(), piece.begin(), piece.end());
      me.pieces_.pop_front();
    }
  }
  for (auto operation : operations) troupe_wait(operation, 0);  // they are done: it is told
}

void communicator::enter(const std::shared_ptr<open_call>& call) {
  const std::lock_guard hold(lock_);
  open_[call.get()] = call;
}

void communicator::leave(const open_call* call) {
  const std::lock_guard hold(lock_);
  open_.erase(call);
}

ncclRedOp_t communicator::add(premultiplication made) {
  const std::lock_guard hold(lock_);
  const int op = next_op_++;
  premultiplications_[op] = std::make_shared<const premultiplication>(std::move(made));
  return static_cast<ncclRedOp_t>(op);
}

std::shared_ptr<const premultiplication> communicator::premultiplied(ncclRedOp_t op) {
  const std::lock_guard hold(lock_);
  const auto found = premultiplications_.find(static_cast<int>(op));
  return found == premultiplications_.end() ? nullptr : found->second;
}

bool communicator::drop(ncclRedOp_t op) {
  const std::lock_guard hold(lock_);
  return premultiplications_.erase(static_cast<int>(op)) > 0;
}

}  // namespace troupe

extern "C" int troupe_nccl_call_is_missing(const char* name) {
  return troupe::refuse(ncclInvalidUsage,
                        std::string(name) + " is for kernels that communicate themselves, which "
                                            "the host device does not run");
}
