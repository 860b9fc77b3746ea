#include "interpose/nccl/operation.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>

#include "interpose/client/troupe_client.h"
#include "interpose/nccl/premultiplied.hpp"
#include "interpose/nccl/settings.hpp"

namespace troupe {
namespace {

/// Messages alone, which are told to keep their streams' order only.
bool is_by_stream(const std::vector<nccl_call>& calls) {
  return settings().messages_by_stream
         && std::all_of(calls.begin(), calls.end(),
                        [](const nccl_call& call) { return is_point_to_point(call.op); });
}

/// The calls of a group, once their streams have got to them.
struct running_group {
  std::atomic<std::size_t> left;
  troupe_device_node* node;
  void one_ended() {
    if (--left == 0) troupe_device_finish(node);
  }
};

/// A call that fails leaves its streams waiting, as it does on a GPU: the program must learn of it
/// by ncclCommGetAsyncError and abort.
class running_call final : public communicator::open_call,
                           public std::enable_shared_from_this<running_call> {
 public:
  running_call(const nccl_call& call, std::shared_ptr<running_group> group, bool by_stream)
      : on_(call.on), group_(std::move(group)), by_stream_(by_stream) {}

  void issue(const nccl_call& call);
  void give_up() override {
    std::unique_lock hold(lock_);
    if (failed_) return end(hold);
    const auto issued = issued_;
    hold.unlock();
    // Not while it is being issued: who does that looks afterwards whether it is aborted.
    int dropped = 0;
    if (issued == 0 || troupe_abandon(issued, &dropped) != 0 || !dropped) return;
    hold.lock();
    delete callback_;
    end(hold);
  }

 private:
  /// The client's last word on it, by any thread.
  static void when_done(void* argument, int status, const char* text, std::int32_t) {
    const std::unique_ptr<std::shared_ptr<running_call>> held(
        static_cast<std::shared_ptr<running_call>*>(argument));
    auto& call = **held;
    if (status != 0)
      call.on_->fail(
          status == static_cast<int>(errc::lost_rank) ? ncclRemoteError : ncclInternalError, text);
    std::unique_lock hold(call.lock_);
    if (status == 0 || call.on_->is_aborted()) return call.end(hold);
    call.failed_ = true;
  }
  void end(std::unique_lock<std::mutex>& hold) {
    if (std::exchange(ended_, true)) return;
    hold.unlock();
    on_->leave(this);
    group_->one_ended();
  }

  std::shared_ptr<communicator> on_;
  std::shared_ptr<running_group> group_;
  const bool by_stream_;
  std::mutex lock_;
  std::uint64_t issued_ = 0;
  bool failed_ = false, ended_ = false;
  std::shared_ptr<running_call>* callback_ = nullptr;
};

void running_call::issue(const nccl_call& call) {
  const auto rank = static_cast<std::uint32_t>(on_->rank());
  const auto size = static_cast<std::uint32_t>(on_->size());
  collective_call what{call.op, call.type, call.reduce, call.count, call.root, 0, {}, {}, true};
  const auto width = size_of(call.type);
  troupe_input input{call.input, input_count(what, rank, size) * width};
  const troupe_output output{call.output, output_count(what, rank, size) * width};
  std::vector<std::byte> product;
  if (call.premultiplied) {
    const auto& by = *call.premultiplied;
    product.resize(input.size);
    multiply(call.type, product, {static_cast<const std::byte*>(call.input), input.size},
             by.on_device ? by.on_device : by.scalar.data());
    input.data = product.data();
  }
  if (call.op == operation::broadcast && call.root == on_->rank() && call.output != call.input)
    std::memmove(call.output, call.input, input.size);
  troupe_call given{};
  given.op = static_cast<std::uint8_t>(what.op);
  given.type = static_cast<std::uint8_t>(what.type);
  given.reduction = static_cast<std::uint8_t>(what.reduce);
  given.batched = 1;  // a communicator's messages need no communicators of their own
  given.count = what.count;
  given.root = what.root;
  on_->enter(shared_from_this());
  auto* held = new std::shared_ptr<running_call>(shared_from_this());
  std::unique_lock hold(lock_);
  callback_ = held;
  std::uint64_t operation = 0;
  if (troupe_issue(on_->id(), &given, &input, input.size ? 1 : 0, &output, output.size ? 1 : 0,
                   call.site.empty() ? nullptr : call.site.c_str(), when_done, held, &operation)
      != 0) {
    on_->fail(ncclSystemError, troupe_error());
    delete held;
    failed_ = true;
  } else {
    issued_ = operation;
    if (!by_stream_) on_->issued(operation);
  }
  hold.unlock();
  if (operation) troupe_follow(operation);
  if (on_->is_aborted()) give_up();
}

void start(void* argument, troupe_device_node* node) {
  const auto& calls = *static_cast<std::vector<nccl_call>*>(argument);
  auto group = std::make_shared<running_group>();
  if (!is_by_stream(calls)) calls.front().on->begin_piece();
  group->left = calls.size();
  group->node = node;
  for (const auto& call : calls) {
    if (call.on->is_aborted())
      group->one_ended();
    else
      std::make_shared<running_call>(call, group, is_by_stream(calls))->issue(call);
  }
}

void release(void* argument) { delete static_cast<std::vector<nccl_call>*>(argument); }

}  // namespace

ncclResult_t queue(std::vector<nccl_call> calls) {
  std::vector<void*> streams;
  for (const auto& call : calls)
    if (std::find(streams.begin(), streams.end(), call.stream) == streams.end())
      streams.push_back(call.stream);
  const auto on = calls.front().on;
  troupe_device_work work{start, release, nullptr, on->order()};
  if (is_by_stream(calls)) work.order = nullptr;
  work.argument = new std::vector<nccl_call>(std::move(calls));
  int now = 0;
  if (cudaGetDevice(&now) != cudaSuccess) return ncclUnhandledCudaError;
  cudaSetDevice(on->device());  // the default streams are its
  const int status = troupe_device_queue(streams.data(), static_cast<int>(streams.size()), &work);
  cudaSetDevice(now);
  if (status == 0) return ncclSuccess;
  return refuse(ncclUnhandledCudaError, std::string("an operation cannot be queued: ")
                                            + cudaGetErrorString(static_cast<cudaError_t>(status)));
}

}  // namespace troupe
