// backend_parts: the backend's calls about several tensors: coalesced ones, batches, and parts of
// different sizes.
#include "interpose/torch/backend.hpp"
#include "interpose/torch/posting.hpp"

namespace troupe {

troupe_backend::work_ptr troupe_backend::allreduce_coalesced(
    tensor_list& tensors, const c10d::AllreduceCoalescedOptions& options) {
  return post(operation::all_reduce, c10d::OpType::ALLREDUCE_COALESCED, options.timeout,
              [&](posting& made) {
                if (tensors.empty() && group_.rules == semantics::gloo)
                  refuse("requires non-empty tensor list");
                made.type = require_dense(tensors);
                made.reduce = reduction_of(options.reduceOp, made.type, group_.rules);
                made.inputs = premultiplied(options.reduceOp, tensors);
                made.outputs = tensors;
                made.count = elements_in(tensors);
              });
}

troupe_backend::work_ptr troupe_backend::allgather_coalesced(
    std::vector<tensor_list>& outputs, tensor_list& inputs, const c10d::AllgatherOptions& options) {
  return post(operation::all_gather, c10d::OpType::ALLGATHER_COALESCED, options.timeout,
              [&](posting& made) {
                if (outputs.size() != static_cast<std::size_t>(getSize()))
                  refuse("needs one list for each of " + std::to_string(getSize()) + " ranks, got "
                         + std::to_string(outputs.size()));
                made.type = require_dense(inputs);
                made.inputs = inputs;
                for (auto& list : outputs) {  // what one rank gives lies in a row
                  if (list.size() != inputs.size())
                    refuse("a list of " + std::to_string(list.size()) + " tensors for "
                           + std::to_string(inputs.size()) + " inputs");
                  for (std::size_t i = 0; i < list.size(); ++i)
                    if (!fits(list[i], inputs[i], group_.rules))
                      refuse("output " + std::to_string(i) + " is " + shape_of(list[i])
                             + ", its input " + shape_of(inputs[i]));
                  made.outputs.insert(made.outputs.end(), list.begin(), list.end());
                }
                require_alike(inputs, made.outputs);
                made.count = elements_in(inputs);
              });
}

troupe_backend::work_ptr troupe_backend::allgather_uneven(const at::Tensor& input,
                                                          const tensor_list& outputs,
                                                          std::chrono::milliseconds timeout) {
  work::parts parts;
  const auto event = begin_event(asked(), "_broadcast_oop", {input});
  for (int root = 0; root < getSize(); ++root) {
    auto part = prepared(operation::broadcast, [&](posting& made) {
      if (outputs.size() != static_cast<std::size_t>(getSize()))
        refuse("needs one tensor for each of " + std::to_string(getSize()) + " ranks, got "
               + std::to_string(outputs.size()));
      auto& output = outputs[static_cast<std::size_t>(root)];
      made.type = require_dense({input, output});
      made.root = root;
      made.count = elements_in({output});
      if (root != getRank()) {
        made.outputs = {output};
        return;
      }
      if (input.numel() != output.numel())
        refuse("the rank's own tensor of the list has " + std::to_string(output.numel())
               + " elements, what it gives has " + std::to_string(input.numel()));
      made.inputs = {input};
      at::NoGradGuard no_grad;
      output.view(-1).copy_(input.reshape(-1));
    });
    parts.push_back(issue(std::move(part), event));
  }
  return joined(c10d::OpType::ALLGATHER, timeout, std::move(parts));
}

troupe_backend::work_ptr troupe_backend::reduce_scatter_uneven(
    const at::Tensor& output, const tensor_list& inputs,
    const c10d::ReduceScatterOptions& options) {
  work::parts parts;
  const auto event = begin_event(asked(), "_reduce_oop", inputs);
  for (int root = 0; root < getSize(); ++root) {
    auto part = prepared(operation::reduce, [&](posting& made) {
      if (inputs.size() != static_cast<std::size_t>(getSize()))
        refuse("needs one tensor for each of " + std::to_string(getSize()) + " ranks, got "
               + std::to_string(inputs.size()));
      auto& input = inputs[static_cast<std::size_t>(root)];
      made.type = require_dense({input, output});
      made.reduce = reduction_of(options.reduceOp, made.type, group_.rules);
      made.root = root;
      made.count = elements_in({input});
      made.inputs = premultiplied(options.reduceOp, {input});
      if (root != getRank()) return;
      if (input.numel() != output.numel())
        refuse("the rank's own tensor of the list has " + std::to_string(input.numel())
               + " elements, what it gets has " + std::to_string(output.numel()));
      made.outputs = {output};
    });
    parts.push_back(issue(std::move(part), event));
  }
  return joined(c10d::OpType::REDUCE_SCATTER, options.timeout, std::move(parts));
}

#if TORCH_VERSION_MAJOR >= 2

namespace {

void require_pairs(const tensor_list& outputs, const tensor_list& inputs) {
  if (outputs.size() != inputs.size())
    refuse("a coalesced call with " + std::to_string(inputs.size()) + " inputs and "
           + std::to_string(outputs.size()) + " outputs");
}

}  // namespace

troupe_backend::work_ptr troupe_backend::allgather_into_tensor_coalesced(
    tensor_list& outputs, tensor_list& inputs, const c10d::AllgatherOptions& options) {
  require_pairs(outputs, inputs);
  work::parts parts;
  const auto event =
      begin_event(asked(), event_name(asked(), c10d::OpType::ALLGATHER_COALESCED), inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto part = prepared(operation::all_gather, [&](posting& made) {
      made.type = require_dense({inputs[i], outputs[i]});
      require_whole(outputs[i], inputs[i], getSize(), group_.rules);
      made.inputs = {inputs[i]};
      made.outputs = {outputs[i]};
      made.count = elements_in(made.inputs);
    });
    parts.push_back(issue(std::move(part), event));
  }
  return joined(c10d::OpType::ALLGATHER_COALESCED, options.timeout, std::move(parts));
}

troupe_backend::work_ptr troupe_backend::reduce_scatter_tensor_coalesced(
    tensor_list& outputs, tensor_list& inputs, const c10d::ReduceScatterOptions& options) {
  require_pairs(outputs, inputs);
  work::parts parts;
  const bool nccl = asked() == "nccl";
  const auto event =
      begin_event(asked(), nccl ? "reduce_scatter_tensor_coalesced" : "all_reduce", inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto part = prepared(operation::reduce_scatter, [&](posting& made) {
      made.type = require_dense({inputs[i], outputs[i]});
      require_whole(inputs[i], outputs[i], getSize(), group_.rules);
      made.reduce = reduction_of(options.reduceOp, made.type, group_.rules);
      made.inputs = premultiplied(options.reduceOp, {inputs[i]});
      made.outputs = {outputs[i]};
      made.count = elements_in(made.inputs);
    });
    parts.push_back(issue(std::move(part), event));
  }
  return joined(c10d::OpType::_REDUCE_SCATTER_BASE, options.timeout, std::move(parts));
}

troupe_backend::work_ptr troupe_backend::endCoalescing() {
  work::parts parts;
  {
    std::lock_guard lock(batch_mutex_);
    if (!batch_) refuse("endCoalescing without startCoalescing");
    parts = std::move(*batch_);
    batch_.reset();
  }
  return joined(c10d::OpType::COALESCED, c10d::kUnsetTimeout, std::move(parts));
}

#else

/// Each call of the batch has its own Work there.
void troupe_backend::endCoalescing(std::vector<work_ptr>&) {
  std::lock_guard lock(batch_mutex_);
  batch_.reset();
}

#endif

void troupe_backend::startCoalescing() {
  std::lock_guard lock(batch_mutex_);
  if (batch_) refuse("startCoalescing within a batch that is not ended");
  batch_.emplace();
}

bool troupe_backend::is_batching() {
  std::lock_guard lock(batch_mutex_);
  return batch_.has_value();
}

}  // namespace troupe
