// tensors: a call's tensors as the client takes them, bytes in a row; and the types and reductions
// a backend knows.
//
// A tensor that is contiguous is used in place. One that is not goes through a temporary: inputs
// are gathered before the call, results copied back before the operation counts as complete.
// Everything here throws std::runtime_error with a sentence; the caller puts operation and rank
// before it.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include <torch/csrc/distributed/c10d/Types.hpp>

#include "interpose/client/troupe_client.h"
#include "messages/collective.hpp"

namespace troupe {

using tensor_list = std::vector<at::Tensor>;

/// Dense, on the CPU, of one type all; returns that type. An empty list is of no type: u8.
at::ScalarType require_dense(const tensor_list& tensors);

/// The type by which the emulated backend knows it. `moves`: the operation does not reduce.
element_type type_of(at::ScalarType type, semantics rules, operation op);

/// The reduction, if the emulated backend has it for the type. NCCL reduces truth values as
/// numbers: their sum is their maximum. A premultiplied sum is a sum (premultiplied below).
reduction reduction_of(const c10d::ReduceOp& op, at::ScalarType type, semantics rules);

/// The tensors that go in when the reduction multiplies first, else the same. The factor is a
/// number or a tensor of the same type, whose first element counts; only floats are multiplied.
tensor_list premultiplied(const c10d::ReduceOp& op, tensor_list tensors);

std::uint64_t elements_in(const tensor_list& tensors);

/// What is sent: refers to memory of `held`.
class input_pieces {
 public:
  explicit input_pieces(const tensor_list& tensors);
  const std::vector<troupe_input>& list() const { return list_; }

 private:
  tensor_list held_;
  std::vector<troupe_input> list_;
};

/// Where the result goes.
class output_pieces {
 public:
  explicit output_pieces(tensor_list tensors);
  const std::vector<troupe_output>& list() const { return list_; }
  const tensor_list& tensors() const { return wanted_; }
  /// Brings the result from temporaries to where it was wanted.
  void copy_back();

 private:
  tensor_list wanted_, laid_;
  std::vector<troupe_output> list_;
};

}  // namespace troupe
