// double_tree: half of the vector through each of two binary trees, in chunks.
//
// Source: Sanders, Speck, Träff (2009), doi:10.1016/j.parco.2009.09.001 (binary_tree.hpp). An
// all_reduce reduces to each tree's root and broadcasts from there, as NCCL's does; for a broadcast
// or reduce the trees are over the members but the root, which is above both. Lane: the tree.
#include "graph/schedule/algorithms.hpp"
#include "graph/schedule/binary_tree.hpp"
#include "graph/schedule/tree_pipeline.hpp"

namespace troupe::rounds {
namespace {

using way = tree_pipeline::way;

tree_neighbours neighbours(const round_writer& to, const tree_links& links) {
  tree_neighbours found;
  if (links.parent != tree_links::none) found.above.push_back(to.member_at(links.parent));
  for (const auto child : links.children)
    if (child != tree_links::none) found.below.push_back(to.member_at(child));
  return found;
}

/// `links(tree)`: of this member. What is too small for two halves goes through the first tree.
template <class Links>
void both_trees(round_writer& to, std::uint64_t chunk_bytes, way which, Links links) {
  const auto total = to.shape.parts.total();
  const part_layout halves(total, total < 2 ? 1 : 2);
  const auto chunk = std::max<std::uint64_t>(chunk_bytes / to.shape.element_bytes, 1);
  for (std::uint32_t tree = 0; tree < halves.parts(); ++tree) {
    tree_pipeline part(to.program, neighbours(to, links(static_cast<int>(tree))),
                       static_cast<std::uint16_t>(tree), 0);
    auto begin = halves.begin(tree);
    do {
      const auto count = std::min(chunk, halves.begin(tree + 1) - begin);
      part.pass({vector_name::data, begin, count}, count * to.shape.element_bytes, which);
      begin += count;
    } while (begin < halves.begin(tree + 1));
  }
}

/// Of the trees over places 1 to n - 1, and place 0 above both.
tree_links below_root(const round_writer& to, int tree) {
  const auto nodes = to.members - 1;
  tree_links links;
  if (to.place == 0) {
    if (nodes > 0) links.children[0] = 1 + (tree == 0 ? 0 : second_tree_root(nodes));
    return links;
  }
  links = links_of(tree, nodes, to.place - 1);
  for (auto& child : links.children)
    if (child != tree_links::none) ++child;
  links.parent = links.parent == tree_links::none ? 0 : links.parent + 1;
  return links;
}

}  // namespace

void double_tree_all_reduce(round_writer& to, std::uint64_t chunk_bytes) {
  both_trees(to, chunk_bytes, way::up_and_down,
             [&](int tree) { return links_of(tree, to.members, to.place); });
}

void double_tree_broadcast(round_writer& to, std::uint64_t chunk_bytes) {
  both_trees(to, chunk_bytes, way::down, [&](int tree) { return below_root(to, tree); });
}

void double_tree_reduce(round_writer& to, std::uint64_t chunk_bytes) {
  both_trees(to, chunk_bytes, way::up, [&](int tree) { return below_root(to, tree); });
}

}  // namespace troupe::rounds
