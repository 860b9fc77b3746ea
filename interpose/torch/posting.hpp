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

/// One tensor a member, each as large as the rank's own part.
inline void require_parts(const tensor_list& parts, int size, std::int64_t part) {
  if (parts.size() != static_cast<std::size_t>(size))
    refuse("needs one tensor for each of " + std::to_string(size) + " ranks, got "
           + std::to_string(parts.size()));
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i].numel() != part)
      refuse("tensor " + std::to_string(i) + " of the list has " + std::to_string(parts[i].numel())
             + " elements, the rank's own has " + std::to_string(part));
}

inline void require_whole(const at::Tensor& whole, const at::Tensor& part, int size) {
  if (whole.numel() != part.numel() * size)
    refuse("one tensor of " + std::to_string(whole.numel()) + " elements is not "
           + std::to_string(size) + " times one of " + std::to_string(part.numel()));
}

inline void require_alike(const tensor_list& one, const tensor_list& other) {
  auto all = one;
  all.insert(all.end(), other.begin(), other.end());
  require_dense(all);
}

/// What an operation's own checks leave behind: the call and its tensors.
struct troupe_backend::posting {
  tensor_list inputs, outputs;
  at::ScalarType type = at::kByte;
  reduction reduce = reduction::none;
  std::uint64_t count = 0;
  int root = 0, tag = 0;
  std::vector<std::uint64_t> send_counts, recv_counts;
};

}  // namespace troupe
