#include "interpose/torch/sparse_sum.hpp"

#include <algorithm>
#include <cstring>

#include "interpose/torch/call_site.hpp"
#include "interpose/torch/refusal.hpp"
#include "interpose/torch/watched_futures.hpp"

namespace troupe {

using c10::ivalue::Future;

namespace {

/// A row of numbers: entries, sparse dimensions, dense dimensions, type, and the lengths.
constexpr std::int64_t lengths_from = 4, lengths_max = 12;
/// Where the indices end the values begin, in rows as long as every type's alignment wants.
constexpr std::int64_t alignment = 16;

std::int64_t aligned(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

c10::intrusive_ptr<sparse_sum> sparse_sum::begin(int rank, int size, const std::string& what,
                                                 const at::Tensor& tensor, profile_event event,
                                                 std::chrono::milliseconds timeout,
                                                 const gatherer& gather_counts,
                                                 const std::shared_ptr<sparse_sums>& order) {
  auto sum =
      c10::make_intrusive<sparse_sum>(rank, size, what, tensor, std::move(event), timeout, order);
  sum->counts_ = gather_counts(sum->rows_, sum->row_, sum->site_);
  order->add(sum);
  sum->counts_->then([order] { order->proceed(); });
  return sum;
}

sparse_sum::sparse_sum(int rank, int size, const std::string& what, const at::Tensor& tensor,
                       profile_event event, std::chrono::milliseconds timeout,
                       std::shared_ptr<sparse_sums> order)
    : c10d::Work(rank, c10d::OpType::ALLREDUCE),
      size_(size),
      what_(what),
      site_(call_site()),
      timeout_(timeout),
      order_(std::move(order)),
      tensor_(tensor),
      event_(std::move(event)),
      future_(c10::make_intrusive<Future>(c10::ListType::create(c10::TensorType::get()))) {
  at::NoGradGuard no_grad;
  own_ = tensor_.detach().coalesce();
  row_ = numbers();
  rows_ = at::empty({size_, row_.size(0)}, at::kLong);
}

at::Tensor sparse_sum::numbers() const {
  if (own_.dim() > lengths_max)
    refuse(what_ + ": a sparse tensor of more than " + std::to_string(lengths_max) + " dimensions");
  auto row = at::zeros({lengths_from + lengths_max}, at::kLong);
  auto* at = row.data_ptr<std::int64_t>();
  at[0] = own_._nnz();
  at[1] = own_.sparse_dim();
  at[2] = own_.dense_dim();
  at[3] = static_cast<std::int64_t>(own_.scalar_type());
  std::copy(own_.sizes().begin(), own_.sizes().end(), at + lengths_from);
  return row;
}

/// All members come to the same answer: they have the same rows.
void sparse_sum::require_alike() const {
  const auto* first = rows_.data_ptr<std::int64_t>();
  const auto length = rows_.size(1);
  for (int member = 1; member < size_; ++member)
    if (!std::equal(first + 1, first + length, first + member * length + 1))
      refuse(what_ + ": Sparse dimensions do not match: the tensors of ranks 0 and "
             + std::to_string(member) + " differ in shape, sparse dimensions or type");
}

void sparse_sum::lay_out_entries() {
  const auto most = rows_.select(1, 0).max().item<std::int64_t>();
  const auto indices = own_.indices().contiguous(), values = own_.values().contiguous();
  auto widest = static_cast<std::int64_t>(values.element_size());
  for (auto length : own_.sizes().slice(own_.sparse_dim())) widest *= length;
  const auto values_from = aligned(own_.sparse_dim() * most * 8);
  part_ = at::zeros({values_from + aligned(most * widest)}, at::kByte);
  whole_ = at::empty({size_, part_.size(0)}, at::kByte);
  auto* into = part_.data_ptr<std::uint8_t>();
  if (indices.nbytes()) std::memcpy(into, indices.data_ptr(), indices.nbytes());
  if (values.nbytes()) std::memcpy(into + values_from, values.data_ptr(), values.nbytes());
}

at::Tensor sparse_sum::entries_of(int member) const {
  const auto numbers = rows_.select(0, member);
  const auto count = numbers[0].item<std::int64_t>(), dims = own_.sparse_dim();
  const auto most = rows_.select(1, 0).max().item<std::int64_t>();
  std::vector<std::int64_t> shape{count};
  for (auto length : own_.sizes().slice(dims)) shape.push_back(length);
  auto* from = whole_.data_ptr<std::uint8_t>() + member * part_.size(0);
  const auto indices = at::from_blob(from, {dims, count}, at::kLong);
  const auto values =
      at::from_blob(from + aligned(dims * most * 8), shape, own_.options().layout(at::kStrided));
  return at::sparse_coo_tensor(indices.clone(), values.clone(), own_.sizes());
}

void sparse_sum::gather_entries(const gatherer& gather) {
  try {
    if (auto why = counts_->failure()) std::rethrow_exception(why);
    require_alike();
    at::NoGradGuard no_grad;
    lay_out_entries();
    std::lock_guard lock(mutex_);
    entries_ = gather(whole_, part_, site_);
    if (is_watched_) watch_child(*entries_->future(), *future_);
  } catch (const std::exception&) {
    why_ = std::current_exception();
  }
}

void sparse_sum::follow_up() {
  if (why_) return finish(why_);
  state_.store(gathering, std::memory_order_release);
  state_.notify_all();
  entries_->then([self = c10::intrusive_ptr<sparse_sum>::reclaim_copy(this)] { self->add_up(); });
}

void sparse_sum::add_up() {
  try {
    if (auto why = entries_->failure()) std::rethrow_exception(why);
    at::NoGradGuard no_grad;
    auto sum = entries_of(0);
    for (int member = 1; member < size_; ++member) sum.add_(entries_of(member));
    tensor_.copy_(sum.coalesce());
  } catch (const std::exception& failed) {
    return finish(std::make_exception_ptr(std::runtime_error(what_ + ": " + failed.what())));
  }
  finish(nullptr);
}

void sparse_sum::finish(std::exception_ptr why) {
  event_.reset();  // who waited may end the profile
  why_ = why;
  state_.store(finished, std::memory_order_release);
  state_.notify_all();
  if (why)
    future_->setError(why);
  else
    future_->markCompleted(c10::IValue(tensor_list{tensor_}));
}

bool sparse_sum::isCompleted() {
  if (is_finished()) return true;
  operation_ptr next;
  {
    std::lock_guard lock(mutex_);
    next = entries_ ? entries_ : counts_;
  }
  next->test();
  return is_finished();
}

/// A timeout of 0 is none.
bool sparse_sum::wait(std::chrono::milliseconds timeout) {
  using namespace std::chrono_literals;
  if (timeout == kNoTimeout) timeout = timeout_;
  const auto end = std::chrono::steady_clock::now() + timeout;
  auto await = [&](const operation_ptr& next) {
    auto left = timeout;
    if (timeout > kNoTimeout)
      left = std::max(1ms, std::chrono::duration_cast<std::chrono::milliseconds>(
                               end - std::chrono::steady_clock::now()));
    next->wait(left);
  };
  await(counts_);
  while (auto ahead = order_->ahead_of(*this)) ahead->test();  // whoever is in this was in those
  state_.wait(counting, std::memory_order_acquire);
  if (state_.load(std::memory_order_acquire) == gathering) await(entries_);
  state_.wait(gathering, std::memory_order_acquire);
  if (why_) std::rethrow_exception(why_);
  return true;
}

c10::intrusive_ptr<Future> sparse_sum::getFuture() {
  if (!waits_on_futures_are_seen()) {
    try {
      wait(kNoTimeout);
    } catch (const std::exception&) {  // the future's to tell
    }
    return future_;
  }
  std::lock_guard lock(mutex_);
  if (!is_watched_ && !is_finished())
    watch_child(*(entries_ ? entries_ : counts_)->future(), *future_);
  is_watched_ = true;
  return future_;
}

void sparse_sums::add(const c10::intrusive_ptr<sparse_sum>& one) {
  std::lock_guard lock(mutex_);
  counted_next_.push_back(one);
}

void sparse_sums::proceed() {
  std::vector<c10::intrusive_ptr<sparse_sum>> begun;
  {
    std::lock_guard lock(mutex_);
    while (!counted_next_.empty() && counted_next_.front()->is_counted()) {
      begun.push_back(std::move(counted_next_.front()));
      counted_next_.pop_front();
      begun.back()->gather_entries(gather_);
    }
  }
  for (auto& sum : begun) sum->follow_up();
}

sparse_sum::operation_ptr sparse_sums::ahead_of(const sparse_sum& one) {
  std::lock_guard lock(mutex_);
  for (auto& each : counted_next_)
    if (each.get() == &one) return counted_next_.front()->counts_;
  return {};
}

}  // namespace troupe
