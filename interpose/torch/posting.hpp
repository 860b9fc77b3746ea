// posting: what the backend's files share: the checks of a call, and what they leave behind.
//
// Everything here throws std::runtime_error with a sentence; whoever posts puts operation and rank
// before it.
#pragma once

#include "interpose/torch/backend.hpp"
#include "interpose/torch/refusal.hpp"

namespace troupe {

inline at::Tensor single(const tensor_list& tensors) {
  if (tensors.size() != 1) refuse("takes one tensor a rank, got " + std::to_string(tensors.size()));
  return tensors.front();
}

/// The lists of the one device a rank has.
inline const tensor_list& single(const std::vector<tensor_list>& lists) {
  if (lists.size() != 1) refuse("takes one list a rank, got " + std::to_string(lists.size()));
  return lists.front();
}

/// gloo goes by shapes where NCCL goes by numbers of elements.
inline bool fits(const at::Tensor& one, const at::Tensor& other, semantics rules) {
  return rules == semantics::gloo ? one.sizes() == other.sizes() : one.numel() == other.numel();
}

inline std::string shape_of(const at::Tensor& tensor) {
  std::string text = "(";
  for (auto length : tensor.sizes()) text += (text.size() > 1 ? ", " : "") + std::to_string(length);
  return text + ") of " + std::to_string(tensor.numel()) + " elements";
}

/// One tensor a member, each like the rank's own part.
inline void require_parts(const tensor_list& parts, int size, const at::Tensor& own,
                          semantics rules) {
  if (parts.size() != static_cast<std::size_t>(size))
    refuse("needs one tensor for each of " + std::to_string(size) + " ranks, got "
           + std::to_string(parts.size()));
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (!fits(parts[i], own, rules))
      refuse("tensor " + std::to_string(i) + " of the list is " + shape_of(parts[i])
             + ", the rank's own is " + shape_of(own));
}

/// The whole is the parts one after the other; gloo wants it as long along the first dimension and
/// otherwise of the same shape (that of torch 1.13 has no such call).
inline void require_whole(const at::Tensor& whole, const at::Tensor& part, int size,
                          semantics rules) {
  bool is_whole = whole.numel() == part.numel() * size;
#if TORCH_VERSION_MAJOR >= 2
  if (rules == semantics::gloo)
    is_whole = whole.dim() > 0 && whole.dim() == part.dim() && whole.size(0) == part.size(0) * size
               && whole.sizes().slice(1) == part.sizes().slice(1);
#else
  static_cast<void>(rules);
#endif
  if (!is_whole)
    refuse("one tensor " + shape_of(whole) + " is not " + std::to_string(size) + " times one "
           + shape_of(part));
}

inline void require_alike(const tensor_list& one, const tensor_list& other) {
  auto all = one;
  all.insert(all.end(), other.begin(), other.end());
  require_dense(all);
}

/// What an operation's own checks leave behind: the call and its tensors.
struct troupe_backend::posting {
  operation op{};
  std::string what;  ///< names operation and rank in sentences
  tensor_list inputs, outputs;
  at::ScalarType type = at::kByte;
  reduction reduce = reduction::none;
  std::uint64_t count = 0;
  int root = 0, tag = 0;
  std::vector<std::uint64_t> send_counts, recv_counts;
  element_type element{};                ///< of what is sent: of type, by the rules
  std::unique_ptr<input_pieces> pieces;  ///< the inputs, each in a row
};

}  // namespace troupe
