#include "graph/schedule/binary_tree.hpp"

#include <bit>

namespace troupe {
namespace {

template <class Rename>
tree_links renamed(tree_links links, Rename rename) {
  for (auto* each : {&links.parent, &links.children[0], &links.children[1]})
    if (*each != tree_links::none) *each = rename(*each);
  return links;
}

}  // namespace

tree_links first_tree(std::uint32_t nodes, std::uint32_t node) {
  tree_links links;
  if (node == 0) {
    if (nodes > 1) links.children[1] = std::bit_floor(nodes - 1);
    return links;
  }
  const std::uint32_t level = node & -node;
  const auto below = node ^ level;  // on the side of node 0
  links.parent = (below | (std::uint64_t{level} << 1)) < nodes ? below | level << 1 : below;
  links.is_first_child = node < links.parent;
  if (level > 1) {
    links.children[0] = node - level / 2;
    for (auto step = level / 2; step > 0; step /= 2)  // the nearest level that has a node there
      if (node + step < nodes) {
        links.children[1] = node + step;
        break;
      }
  }
  return links;
}

tree_links second_tree(std::uint32_t nodes, std::uint32_t node) {
  if (nodes % 2 == 0)
    return renamed(first_tree(nodes, nodes - 1 - node),
                   [=](std::uint32_t at) { return nodes - 1 - at; });
  return renamed(first_tree(nodes, (node + nodes - 1) % nodes),
                 [=](std::uint32_t at) { return (at + 1) % nodes; });
}

}  // namespace troupe
