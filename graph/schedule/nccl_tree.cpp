// nccl_tree: nccl.hpp's all_reduce along trees: a chain of the devices of each host, and one of two
// binary trees over the hosts.
//
// The first device of a chain is joined to the host above, the second (or only one) to the first
// host below, the first to the second: NCCL's balanced tree.
#include <algorithm>

#include "graph/schedule/binary_tree.hpp"
#include "graph/schedule/nccl.hpp"
#include "graph/schedule/tree_pipeline.hpp"

namespace troupe::rounds {
namespace {

constexpr std::size_t room = 8;  // NCCL_STEPS

tree_neighbours neighbours_of(std::uint32_t self, const host_layout& hosts,
                              const nccl_channel& channel) {
  const auto rotation = hosts.hosts() > 1 ? channel.ring : 0;
  const auto at = [&](std::uint32_t host, std::uint32_t place) {
    return hosts.member(host, (place + rotation) % hosts.size(host));
  };
  const auto second = [&](std::uint32_t host) { return std::min(1u, hosts.size(host) - 1); };
  const auto host = hosts.host(self), size = hosts.size(host);
  const auto place = (hosts.seat(self) + size - rotation % size) % size;
  const auto links = links_of(channel.tree, hosts.hosts(), host);
  tree_neighbours found;
  if (place > 0)
    found.above.push_back(at(host, place - 1));
  else if (links.parent != tree_links::none)
    found.above.push_back(at(links.parent, links.is_first_child ? second(links.parent) : 0));
  if (place + 1 < size) found.below.push_back(at(host, place + 1));
  if (place == second(host) && links.children[0] != tree_links::none)
    found.below.push_back(at(links.children[0], 0));
  if (place == 0 && links.children[1] != tree_links::none)
    found.below.push_back(at(links.children[1], 0));
  return found;
}

}  // namespace

void nccl_tree(const collective_shape& what, std::uint32_t self, const nccl_plan& plan,
               const host_layout& hosts, const nccl_settings& settings, transfer_program& to) {
  for (const auto& part : plan.parts) {
    tree_pipeline tree(to, neighbours_of(self, hosts, channel_at(part.channel, settings, hosts)),
                       static_cast<std::uint16_t>(part.channel), room);
    for (std::uint64_t begin = 0; begin < part.count; begin += part.chunk) {
      const auto count = std::min(part.chunk, part.count - begin);
      tree.pass({vector_name::data, part.begin + begin, count},
                wire_bytes(plan.protocol, count * what.element_bytes),
                tree_pipeline::way::up_and_down);
    }
  }
}

}  // namespace troupe::rounds
