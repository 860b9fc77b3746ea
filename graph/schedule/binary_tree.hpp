// binary_tree: who is above and below whom in two binary trees over the same nodes, of which
// (nearly) every node is a leaf of one.
//
// Source: Sanders, Speck, Träff, "Two-tree algorithms for full bandwidth broadcast, reduction and
// scan", Parallel Comput. 35 (2009), doi:10.1016/j.parco.2009.09.001; in the shape that NCCL has
// (src/graph/trees.cc): in order, the root is node 0 with one child; a node's level is its lowest
// bit, its parent the next level's nearest node, or node 0's side where that does not exist. The
// second tree is the first one mirrored if their number is even, else moved on by one.
#pragma once

#include <array>
#include <cstdint>

namespace troupe {

struct tree_links {
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  std::uint32_t parent = none;
  std::array<std::uint32_t, 2> children{none, none};
  bool is_first_child = false;  ///< of its parent
};

tree_links first_tree(std::uint32_t nodes, std::uint32_t node);
tree_links second_tree(std::uint32_t nodes, std::uint32_t node);
/// Who has no parent.
constexpr std::uint32_t second_tree_root(std::uint32_t nodes) {
  return nodes % 2 == 0 ? nodes - 1 : nodes == 1 ? 0 : 1;
}
/// Of tree 0 or 1.
inline tree_links links_of(int tree, std::uint32_t nodes, std::uint32_t node) {
  return tree == 0 ? first_tree(nodes, node) : second_tree(nodes, node);
}

}  // namespace troupe
