#include "graph/collective_traffic.hpp"

#include "graph/saturating.hpp"
#include "messages/assert.hpp"

namespace troupe {
namespace {

// Part `number` of a size cut into n.
std::uint64_t part(std::uint64_t size, std::uint64_t number, std::uint64_t n) {
  return size / n + (number % n < size % n);
}

}  // namespace

void add_traffic(traffic_matrix& to, const node& what, const communicator_entry& group,
                 std::uint32_t group_rank, std::uint64_t times) {
  const std::uint64_t n = group.members.size();
  TROUPE_ASSERT(group_rank < n && communicates(what.kind), group_rank, n);
  const auto self = group.members[group_rank];
  const auto successor = group.members[(group_rank + 1) % n];
  const bool is_root = what.peer == static_cast<std::int32_t>(group_rank);
  auto give = [&](rank_id destination, std::uint64_t bytes) {
    to.add(self, destination, saturating_multiply(bytes, times));
  };
  auto give_parts = [&] {
    to.add_to_others(self, what.communicator, saturating_multiply(what.size / n, times));
    for (std::uint64_t other = 0; other < what.size % n; ++other)
      if (other != group_rank) give(group.members[other], 1);
  };
  switch (what.op) {
    case operation::send:
      return give(group.members[static_cast<std::size_t>(what.peer)], what.size);
    case operation::all_gather:
      return to.add_to_others(self, what.communicator, saturating_multiply(what.size, times));
    case operation::broadcast:
      if (is_root) to.add_to_others(self, what.communicator, saturating_multiply(what.size, times));
      return;
    case operation::scatter:
      if (is_root) give_parts();
      return;
    case operation::gather:
    case operation::reduce:
      if (!is_root) give(group.members[static_cast<std::size_t>(what.peer)], what.size);
      return;
    case operation::all_to_all:
      return give_parts();
    case operation::reduce_scatter:
      if (n > 1) give(successor, what.size - part(what.size, group_rank, n));
      return;
    case operation::all_reduce:  // reduce_scatter leaves out part r + 1, all_gather part r + 2
      if (n > 1) {
        give(successor, what.size - part(what.size, group_rank + 1, n));
        give(successor, what.size - part(what.size, group_rank + 2, n));
      }
      return;
    case operation::recv:
    case operation::barrier:
      return;
  }
}

}  // namespace troupe
