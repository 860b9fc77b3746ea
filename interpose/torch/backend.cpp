#include "interpose/torch/backend.hpp"

#include "interpose/torch/posting.hpp"

namespace troupe {

namespace {

bool are_uneven(const tensor_list& parts) {
  for (auto& part : parts)
    if (part.numel() != parts.front().numel()) return true;
  return false;
}

/// NCCL, and gloo's reduce_scatter since it is there.
bool scatters_uneven(semantics rules) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 8)
  if (rules == semantics::gloo) return true;
#endif
  return rules == semantics::nccl;
}

/// ProcessGroupGloo's list all_to_all has parts of one shape (that of torch 1.13 has none).
void require_one_shape([[maybe_unused]] const tensor_list& parts,
                       [[maybe_unused]] const at::Tensor& like, [[maybe_unused]] semantics rules) {
#if TORCH_VERSION_MAJOR >= 2
  if (rules != semantics::gloo) return;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i].sizes() != like.sizes())
      refuse("invalid tensor size at index " + std::to_string(i) + " (expected " + shape_of(like)
             + ", got " + shape_of(parts[i]) + ")");
#endif
}

bool names_a_root(operation op) {
  return op == operation::broadcast || op == operation::reduce || op == operation::gather
         || op == operation::scatter;
}

/// What of a call depends on the group's size, or on messages alone.
void require_possible(operation op, int peer, int tag, int size, semantics rules,
                      const tensor_list& tensors) {
  if (names_a_root(op) && (peer < 0 || peer >= size))
    refuse("invalid root rank: " + std::to_string(peer) + " of " + std::to_string(size));
  if (!is_point_to_point(op)) return;
  if (peer >= size || (peer < 0 && !(op == operation::recv && peer == any_source)))
    refuse("invalid rank: " + std::to_string(peer) + " of " + std::to_string(size));
  if (rules != semantics::gloo) return;
  if (tag < 0) refuse("Tag must be nonnegative, got " + std::to_string(tag));
  for (auto& tensor : tensors)
    if (!tensor.is_contiguous()) refuse("the tensor has to be contiguous");
}

/// Elements to or from each member, from rows (torch's splits count along the first dimension).
std::vector<std::uint64_t> in_elements(const std::vector<std::int64_t>& splits,
                                       const at::Tensor& tensor, int size, const char* which) {
  auto rows = tensor.dim() == 0 ? 1 : tensor.size(0);
  std::int64_t row = 1;
  for (std::int64_t dim = 1; dim < tensor.dim(); ++dim) row *= tensor.size(dim);
  if (splits.empty()) {
    if (rows % size != 0)
      refuse("Tensor's dim 0 does not divide equally across group size: " + std::to_string(rows)
             + " " + which + " rows among " + std::to_string(size) + " ranks");
    return std::vector<std::uint64_t>(static_cast<std::size_t>(size),
                                      static_cast<std::uint64_t>(rows / size * row));
  }
  if (splits.size() != static_cast<std::size_t>(size))
    refuse("Number of tensor splits not equal to group size: " + std::to_string(splits.size()) + " "
           + which + " splits among " + std::to_string(size) + " ranks");
  std::vector<std::uint64_t> counts;
  std::int64_t sum = 0;
  for (auto split : splits) {
    if (split < 0) refuse(std::string("a negative ") + which + " split");
    sum += split;
    counts.push_back(static_cast<std::uint64_t>(split * row));
  }
  if (sum != rows)
    refuse("Split sizes doesn't match total dim 0 size: " + std::to_string(sum) + " against "
           + std::to_string(rows) + " " + which + " rows");
  return counts;
}

}  // namespace

c10::intrusive_ptr<troupe_backend> troupe_backend::open(group of,
                                                        std::chrono::milliseconds timeout) {
  std::uint64_t communicator = 0;
  if (troupe_open_communicator(of.members.data(), static_cast<std::uint32_t>(of.members.size()),
                               static_cast<std::uint8_t>(of.rules), of.name.c_str(), &communicator)
      != 0)
    refuse("group " + of.name + ": " + troupe_error());
  return c10::make_intrusive<troupe_backend>(std::move(of), communicator, timeout);
}

troupe_backend::posting troupe_backend::prepared(operation op, const preparation& prepare) {
  posting made;
  made.op = op;
  made.what = std::string(to_string(op)) + " of rank " + std::to_string(getRank()) + " of "
              + std::to_string(getSize());
  try {
    prepare(made);
    require_possible(op, made.root, made.tag, getSize(), group_.rules,
                     made.inputs.empty() ? made.outputs : made.inputs);
    made.element =
        op == operation::barrier ? element_type::u8 : type_of(made.type, group_.rules, op);
    made.pieces = std::make_unique<input_pieces>(made.inputs);
  } catch (const std::exception& failed) {
    refuse(made.what + ": " + failed.what());
  }
  return made;
}

std::shared_ptr<posted_operation> troupe_backend::issue(posting made, profile_event event,
                                                        const std::string& site) {
  troupe_call call{};
  call.op = static_cast<std::uint8_t>(made.op);
  call.type = static_cast<std::uint8_t>(made.element);
  call.reduction = static_cast<std::uint8_t>(made.reduce);
  call.batched = is_batching();
  call.count = made.count;
  call.root = made.root;
  call.tag = made.tag;
  call.send_counts = made.send_counts.empty() ? nullptr : made.send_counts.data();
  call.recv_counts = made.recv_counts.empty() ? nullptr : made.recv_counts.data();
  auto posted =
      posted_operation::post(std::move(made.what), communicator_, call, *made.pieces,
                             output_pieces(std::move(made.outputs)), std::move(event), site);
  if (!is_point_to_point(made.op)) ++sequence_;
  return posted;
}

troupe_backend::work_ptr troupe_backend::joined(c10d::OpType kind,
                                                std::chrono::milliseconds timeout,
                                                work::parts parts) {
  {
    std::lock_guard lock(batch_mutex_);
    if (batch_) batch_->insert(batch_->end(), parts.begin(), parts.end());
  }
  return c10::make_intrusive<work>(getRank(), kind, std::move(parts),
                                   timeout == c10d::kUnsetTimeout ? timeout_.load() : timeout);
}

/// NCCL names a message's peer since torch 2, and shows what a scatter gives to the rank.
profile_event troupe_backend::event_of(const posting& made, c10d::OpType kind) const {
  if (!somebody_profiles()) return {};
  const bool nccl = asked() == "nccl";
  std::string what = event_name(asked(), kind);
#if TORCH_VERSION_MAJOR >= 2
  if (nccl && is_point_to_point(made.op))
    what += ' ' + std::to_string(getRank()) + (made.op == operation::send ? "->" : "<-")
            + std::to_string(made.root);
#endif
  const bool gets =
      made.op == operation::scatter ? nccl : made.inputs.empty();  // what it gets is shown
  return begin_event(asked(), what, gets ? made.outputs : made.inputs);
}

troupe_backend::work_ptr troupe_backend::post(operation op, c10d::OpType kind,
                                              std::chrono::milliseconds timeout,
                                              const preparation& prepare) {
  auto made = prepared(op, prepare);
  auto event = event_of(made, kind);
  return joined(kind, timeout, {issue(std::move(made), std::move(event))});
}

troupe_backend::work_ptr troupe_backend::broadcast(tensor_list& tensors,
                                                   const c10d::BroadcastOptions& options) {
  return post(operation::broadcast, c10d::OpType::BROADCAST, options.timeout, [&](posting& made) {
    auto tensor = single(tensors);
    made.type = require_dense(tensors);
    made.root = static_cast<int>(options.rootRank);
    (made.root == getRank() ? made.inputs : made.outputs) = {tensor};
    made.count = elements_in(tensors);
  });
}

troupe_backend::work_ptr troupe_backend::allreduce(tensor_list& tensors,
                                                   const c10d::AllreduceOptions& options) {
  if (group_.rules == semantics::gloo && tensors.size() == 1 && tensors.front().is_sparse())
    return allreduce_of_sparse(tensors.front(), options);
  return post(operation::all_reduce, c10d::OpType::ALLREDUCE, options.timeout, [&](posting& made) {
    single(tensors);
    made.type = require_dense(tensors);
    made.reduce = reduction_of(options.reduceOp, made.type, group_.rules);
    made.inputs = premultiplied(options.reduceOp, tensors);
    made.outputs = tensors;
    made.count = elements_in(tensors);
  });
}

troupe_backend::work_ptr troupe_backend::reduce(tensor_list& tensors,
                                                const c10d::ReduceOptions& options) {
  return post(operation::reduce, c10d::OpType::REDUCE, options.timeout, [&](posting& made) {
    single(tensors);
    made.type = require_dense(tensors);
    made.reduce = reduction_of(options.reduceOp, made.type, group_.rules);
    made.root = static_cast<int>(options.rootRank);
    made.inputs = premultiplied(options.reduceOp, tensors);
    if (made.root == getRank()) made.outputs = tensors;
    made.count = elements_in(tensors);
  });
}

troupe_backend::work_ptr troupe_backend::allgather(std::vector<tensor_list>& outputs,
                                                   tensor_list& inputs,
                                                   const c10d::AllgatherOptions& options) {
  if (group_.rules == semantics::nccl && inputs.size() == 1 && outputs.size() == 1
      && are_uneven(outputs.front()))
    return allgather_uneven(inputs.front(), outputs.front(), options.timeout);
  return post(operation::all_gather, c10d::OpType::ALLGATHER, options.timeout, [&](posting& made) {
    auto part = single(inputs);
    made.outputs = single(outputs);
    require_parts(made.outputs, getSize(), part, group_.rules);
    require_alike(inputs, made.outputs);
    made.type = part.scalar_type();
    made.inputs = inputs;
    made.count = elements_in(inputs);
  });
}

troupe_backend::work_ptr troupe_backend::_allgather_base(at::Tensor& whole, at::Tensor& part,
                                                         const c10d::AllgatherOptions& options) {
  return post(operation::all_gather, c10d::OpType::_ALLGATHER_BASE, options.timeout,
              [&](posting& made) {
                made.type = require_dense({part, whole});
                require_whole(whole, part, getSize(), group_.rules);
                made.inputs = {part};
                made.outputs = {whole};
                made.count = elements_in(made.inputs);
              });
}

troupe_backend::work_ptr troupe_backend::gather(std::vector<tensor_list>& outputs,
                                                tensor_list& inputs,
                                                const c10d::GatherOptions& options) {
  return post(operation::gather, c10d::OpType::GATHER, options.timeout, [&](posting& made) {
    auto part = single(inputs);
    made.root = static_cast<int>(options.rootRank);
    if (made.root == getRank()) {
      made.outputs = single(outputs);
      require_parts(made.outputs, getSize(), part, group_.rules);
    } else if (!outputs.empty()) {
      refuse("only the root takes output tensors");
    }
    require_alike(inputs, made.outputs);
    made.type = part.scalar_type();
    made.inputs = inputs;
    made.count = elements_in(inputs);
  });
}

troupe_backend::work_ptr troupe_backend::scatter(tensor_list& outputs,
                                                 std::vector<tensor_list>& inputs,
                                                 const c10d::ScatterOptions& options) {
  return post(operation::scatter, c10d::OpType::SCATTER, options.timeout, [&](posting& made) {
    auto part = single(outputs);
    made.root = static_cast<int>(options.rootRank);
    if (made.root == getRank()) {
      made.inputs = single(inputs);
      require_parts(made.inputs, getSize(), part, group_.rules);
    } else if (!inputs.empty()) {
      refuse("only the root gives input tensors");
    }
    require_alike(outputs, made.inputs);
    made.type = part.scalar_type();
    made.outputs = outputs;
    made.count = elements_in(outputs);
  });
}

troupe_backend::work_ptr troupe_backend::reduce_scatter(tensor_list& outputs,
                                                        std::vector<tensor_list>& inputs,
                                                        const c10d::ReduceScatterOptions& options) {
  if (scatters_uneven(group_.rules) && inputs.size() == 1 && outputs.size() == 1
      && are_uneven(inputs.front()))
    return reduce_scatter_uneven(outputs.front(), inputs.front(), options);
  return post(operation::reduce_scatter, c10d::OpType::REDUCE_SCATTER, options.timeout,
              [&](posting& made) {
                auto part = single(outputs);
                auto& parts = single(inputs);
                require_parts(parts, getSize(), part, group_.rules);
                require_alike(outputs, parts);
                made.type = part.scalar_type();
                made.reduce = reduction_of(options.reduceOp, made.type, group_.rules);
                made.inputs = premultiplied(options.reduceOp, parts);
                made.outputs = outputs;
                made.count = elements_in(parts);
              });
}

troupe_backend::work_ptr troupe_backend::_reduce_scatter_base(
    at::Tensor& part, at::Tensor& whole, const c10d::ReduceScatterOptions& options) {
  return post(operation::reduce_scatter, c10d::OpType::_REDUCE_SCATTER_BASE, options.timeout,
              [&](posting& made) {
                made.type = require_dense({part, whole});
                require_whole(whole, part, getSize(), group_.rules);
                made.reduce = reduction_of(options.reduceOp, made.type, group_.rules);
                made.inputs = premultiplied(options.reduceOp, {whole});
                made.outputs = {part};
                made.count = elements_in({whole});
              });
}

troupe_backend::work_ptr troupe_backend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                       std::vector<std::int64_t>& output_splits,
                                                       std::vector<std::int64_t>& input_splits,
                                                       const c10d::AllToAllOptions& options) {
  return post(operation::all_to_all, c10d::OpType::ALLTOALL_BASE, options.timeout,
              [&](posting& made) {
                made.type = require_dense({input, output});
                made.inputs = {input};
                made.outputs = {output};
                made.count = elements_in({input});
                auto given = in_elements(input_splits, input, getSize(), "input");
                auto taken = in_elements(output_splits, output, getSize(), "output");
                if (input_splits.empty() && output_splits.empty()) {
                  if (input.numel() != output.numel())
                    refuse("equal splits of " + std::to_string(input.numel()) + " elements into "
                           + std::to_string(output.numel()));
                  return;
                }
                made.send_counts = std::move(given);
                made.recv_counts = std::move(taken);
              });
}

troupe_backend::work_ptr troupe_backend::alltoall(tensor_list& outputs, tensor_list& inputs,
                                                  const c10d::AllToAllOptions& options) {
  return post(operation::all_to_all, c10d::OpType::ALLTOALL, options.timeout, [&](posting& made) {
    auto size = static_cast<std::size_t>(getSize());
    if (inputs.size() != size || outputs.size() != size)
      refuse("needs one tensor for each of " + std::to_string(size) + " ranks, got "
             + std::to_string(inputs.size()) + " inputs and " + std::to_string(outputs.size())
             + " outputs");
    require_alike(inputs, outputs);
    require_one_shape(inputs, inputs.front(), group_.rules);
    require_one_shape(outputs, inputs.front(), group_.rules);
    made.type = inputs.front().scalar_type();
    made.inputs = inputs;
    made.outputs = outputs;
    made.count = elements_in(inputs);
    for (auto& tensor : inputs) made.send_counts.push_back(elements_in({tensor}));
    for (auto& tensor : outputs) made.recv_counts.push_back(elements_in({tensor}));
  });
}

troupe_backend::work_ptr troupe_backend::barrier(const c10d::BarrierOptions& options) {
  return post(operation::barrier, c10d::OpType::BARRIER, options.timeout, [](posting&) {});
}

troupe_backend::work_ptr troupe_backend::send(tensor_list& tensors, int destination, int tag) {
  return post(operation::send, c10d::OpType::SEND, c10d::kUnsetTimeout, [&](posting& made) {
    single(tensors);
    made.type = require_dense(tensors);
    made.inputs = tensors;
    made.count = elements_in(tensors);
    made.root = destination;
    made.tag = tag;
  });
}

troupe_backend::work_ptr troupe_backend::recv(tensor_list& tensors, int source, int tag) {
  auto kind = source == any_source ? c10d::OpType::RECVANYSOURCE : c10d::OpType::RECV;
  return post(operation::recv, kind, c10d::kUnsetTimeout, [&](posting& made) {
    single(tensors);
    made.type = require_dense(tensors);
    made.outputs = tensors;
    made.count = elements_in(tensors);
    made.root = source;
    made.tag = tag;
  });
}

troupe_backend::work_ptr troupe_backend::recvAnysource(tensor_list& tensors, int tag) {
  return recv(tensors, any_source, tag);
}

}  // namespace troupe
