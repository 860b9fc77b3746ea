#include "actors/collective_result.hpp"

#include <numeric>

namespace troupe {
namespace {

std::uint64_t sent(const collective_call& call, std::uint32_t to, std::uint64_t group_size) {
  return call.send_counts.empty() ? call.count / group_size : call.send_counts[to];
}

std::vector<piece> all_to_all(std::span<const collective_call> calls, std::uint32_t group_rank,
                              std::uint64_t width) {
  std::vector<piece> pieces;
  for (std::uint32_t source = 0; source < calls.size(); ++source) {
    const auto& call = calls[source];
    const auto count = sent(call, group_rank, calls.size());
    if (!count) continue;
    const auto begin =
        call.send_counts.empty()
            ? group_rank * count
            : std::accumulate(call.send_counts.begin(), call.send_counts.begin() + group_rank,
                              std::uint64_t{});
    pieces.push_back({source, begin * width, count * width});
  }
  return pieces;
}

}  // namespace

std::vector<piece> pieces_of(std::span<const collective_call> calls, std::uint32_t group_rank) {
  const auto& call = calls[group_rank];
  const std::uint64_t width = size_of(call.type), size = call.count * width;
  const auto root = static_cast<std::uint32_t>(call.root);
  std::vector<piece> pieces;
  auto add = [&](std::uint32_t source, std::uint64_t begin, std::uint64_t length) {
    if (length) pieces.push_back({source, begin, length});
  };
  switch (call.op) {
    case operation::all_reduce:
      add(0, 0, size);
      break;
    case operation::reduce:
      if (group_rank == root) add(0, 0, size);
      break;
    case operation::reduce_scatter: {
      const auto part = size / calls.size();
      add(0, group_rank * part, part);
      break;
    }
    case operation::broadcast:
      if (group_rank != root) add(root, 0, size);
      break;
    case operation::scatter:
      add(root, group_rank * size, size);
      break;
    case operation::gather:
      if (group_rank != root) break;
      [[fallthrough]];
    case operation::all_gather:
      for (std::uint32_t source = 0; source < calls.size(); ++source) add(source, 0, size);
      break;
    case operation::all_to_all:
      return all_to_all(calls, group_rank, width);
    case operation::barrier:
    case operation::send:
    case operation::recv:
      break;
  }
  return pieces;
}

}  // namespace troupe
