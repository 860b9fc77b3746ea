// double_tree: half of the vector through each of two binary trees, in chunks.
//
// Source: Sanders, Speck, Träff (2009), doi:10.1016/j.parco.2009.09.001 (binary_tree.hpp). An
// all_reduce reduces to each tree's root and broadcasts from there, as NCCL's does; for a broadcast
// or reduce the trees are over the members but the root, which is above both. A chunk goes on
// when it has come from all below (or from above); chunks of one link keep their order. Lane: the
// tree.
#include "graph/schedule/algorithms.hpp"
#include "graph/schedule/binary_tree.hpp"

namespace troupe::rounds {
namespace {

enum class way { up, down, up_and_down };

/// One member's steps in one tree for one half.
class tree_part {
 public:
  tree_part(round_writer& to, const tree_links& links, int tree)
      : to_(to), links_(links), lane_(static_cast<std::uint16_t>(tree)) {}

  void pass(element_range chunk, way which) {
    after_.clear();
    if (which != way::down) {
      for (int child = 0; child < 2; ++child)
        if (links_.children[child] != tree_links::none)
          after_.push_back(
              next_recv(from_child_[child], links_.children[child], chunk, combining::reduce));
      if (links_.parent != tree_links::none) send(links_.parent, chunk);
    }
    if (which == way::up) return;
    if (links_.parent != tree_links::none)
      after_.assign(1, next_recv(from_parent_, links_.parent, chunk, combining::copy));
    for (const auto child : links_.children)
      if (child != tree_links::none) send(child, chunk);
  }

 private:
  void send(std::uint32_t place, element_range chunk) {
    to_.program.send(to_.member_at(place), chunk, after_, lane_);
  }
  /// After the one before on the same link.
  std::uint32_t next_recv(std::vector<std::uint32_t>& last, std::uint32_t place,
                          element_range chunk, combining how) {
    last.assign(1, to_.program.recv(to_.member_at(place), chunk, how, last, lane_));
    return last[0];
  }

  round_writer& to_;
  const tree_links links_;
  const std::uint16_t lane_;
  std::vector<std::uint32_t> after_, from_parent_, from_child_[2];
};

/// `links(tree)`: of this member. What is too small for two halves goes through the first tree.
template <class Links>
void both_trees(round_writer& to, std::uint64_t chunk_bytes, way which, Links links) {
  const auto total = to.shape.parts.total();
  const part_layout halves(total, total < 2 ? 1 : 2);
  const auto chunk = std::max<std::uint64_t>(chunk_bytes / to.shape.element_bytes, 1);
  for (std::uint32_t tree = 0; tree < halves.parts(); ++tree) {
    tree_part part(to, links(static_cast<int>(tree)), static_cast<int>(tree));
    auto begin = halves.begin(tree);
    do {
      const auto count = std::min(chunk, halves.begin(tree + 1) - begin);
      part.pass({vector_name::data, begin, count}, which);
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
