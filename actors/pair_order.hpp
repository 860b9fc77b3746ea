// pair_order: do ranks come to each other in orders that a library could follow which makes a
// communicator for each pair at its first message?
//
// torch does so with NCCL for messages outside of a batch, and both ranks must be in the making of
// it at the same time: each waits there until the other comes. Orders in which the first pairs of
// some ranks form a circle hang. Not here: the messages themselves (point_to_point.hpp).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <vector>

namespace troupe {

class pair_order {
 public:
  /// A member comes to a peer with a message. Returns the members of a circle once there is one, in
  /// the order in which they wait for each other; else nothing.
  std::vector<std::uint32_t> comes(std::uint32_t member, std::uint32_t peer);

 private:
  bool meet(std::uint32_t member);
  std::vector<std::uint32_t> circle_from(std::uint32_t member) const;

  std::set<std::pair<std::uint32_t, std::uint32_t>> known_;   // member, peer
  std::map<std::uint32_t, std::deque<std::uint32_t>> ahead_;  // peers not met, in order
  bool told_ = false;
};

}  // namespace troupe
