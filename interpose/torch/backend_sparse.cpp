// backend_sparse: gloo's all_reduce of sparse tensors.
#include "interpose/torch/backend.hpp"
#include "interpose/torch/posting.hpp"

namespace troupe {

troupe_backend::work_ptr troupe_backend::allreduce_of_sparse(
    const at::Tensor& tensor, const c10d::AllreduceOptions& options) {
  const auto what =
      "all_reduce of rank " + std::to_string(getRank()) + " of " + std::to_string(getSize());
  if (options.reduceOp != c10d::ReduceOp::SUM)
    refuse(what + ": all_reduce of sparse tensors only works with ReduceOp.SUM");
  if (!tensor.device().is_cpu())
    refuse(what + ": the tensor is on " + tensor.device().str()
           + ", this process has CPU memory only");
  try {
    type_of(tensor.scalar_type(), group_.rules, operation::all_reduce);
  } catch (const std::exception& failed) {
    refuse(what + ": " + failed.what());
  }
  auto event = begin_event(asked(), "sparse_all_reduce", {tensor});
  return sparse_sum::begin(
      getRank(), getSize(), what, tensor, std::move(event),
      options.timeout == c10d::kUnsetTimeout ? timeout_.load() : options.timeout,
      [this](at::Tensor& whole, at::Tensor& part, const std::string& site) {
        return gather_rows(whole, part, site);
      },
      sparse_order());
}

/// Their entries go over a communicator of their own, opened at the first.
std::shared_ptr<sparse_sums> troupe_backend::sparse_order() {
  std::lock_guard lock(sparse_mutex_);
  if (sparse_) return sparse_;
  auto entries = group_;
  entries.name += ", entries of sparse tensors";
  sparse_ = std::make_shared<sparse_sums>(
      [over = open(std::move(entries), timeout_.load())](at::Tensor& whole, at::Tensor& part,
                                                         const std::string& site) {
        return over->gather_rows(whole, part, site);
      });
  return sparse_;
}

sparse_sum::operation_ptr troupe_backend::gather_rows(at::Tensor& whole, at::Tensor& part,
                                                      const std::string& site) {
  return issue(prepared(operation::all_gather,
                        [&](posting& made) {
                          made.type = require_dense({part, whole});
                          made.inputs = {part};
                          made.outputs = {whole};
                          made.count = elements_in(made.inputs);
                        }),
               {}, site);
}

}  // namespace troupe
