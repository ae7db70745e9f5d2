// Separator trees from elimination trees: chains, and small subtrees as leaves.

#include "common/etree_chains.hpp"

#include "common/preprocess.hpp"

namespace gsofa {

namespace {

// Subtree sizes of an elimination tree, and the chain or small subtree of each vertex, named by one
// of its vertices (`head`).
struct chains {
  std::vector<index_t> head;
  std::vector<index_t> length;  // by head
};

chains chains_of(std::span<const index_t> parent, std::span<const index_t> post, index_t most) {
  const std::size_t n = parent.size();
  std::vector<index_t> size(n, 1);
  std::vector<index_t> large_children(n, 0);
  std::vector<index_t> large_child(n, -1);
  for (const index_t v : post) {
    const index_t above = parent[at(v)];
    if (above < 0) continue;
    size[at(above)] += size[at(v)];
    if (size[at(v)] <= most) continue;
    ++large_children[at(above)];
    large_child[at(above)] = v;
  }
  chains c{std::vector<index_t>(n), std::vector<index_t>(n, 0)};
  for (std::size_t k = n; k-- > 0;) {
    const index_t v = post[k];
    const index_t above = parent[at(v)];
    const bool is_inside = above >= 0 && size[at(above)] <= most;
    if (size[at(v)] <= most) c.head[at(v)] = is_inside ? c.head[at(above)] : v;
  }
  for (const index_t v : post) {
    if (size[at(v)] > most) {
      c.head[at(v)] = large_children[at(v)] == 1 ? c.head[at(large_child[at(v)])] : v;
    }
    ++c.length[at(c.head[at(v)])];
  }
  return c;
}

}  // namespace

tree_order tree_of_chains(const pattern_view& a, std::span<const index_t> order, index_t most) {
  const std::vector<index_t> parent = elimination_tree_of_sum(a, transpose(a), order);
  const std::vector<index_t> post = postorder(parent);
  const chains c = chains_of(parent, post, most);
  // A node is numbered when the postorder reaches its last vertex: all below have numbers then.
  tree_order result;
  std::vector<index_t> seen(parent.size(), 0);   // by head
  std::vector<index_t> place(parent.size(), 0);  // by head: the next position
  std::vector<index_t> node(parent.size(), -1);  // by head
  std::vector<index_t> last;                     // by node
  for (const index_t v : post) {
    const auto h = at(c.head[at(v)]);
    if (++seen[h] < c.length[h]) continue;
    node[h] = static_cast<index_t>(last.size());
    last.push_back(v);
    place[h] = result.tree.start.back();
    result.tree.start.push_back(place[h] + c.length[h]);
  }
  result.order.resize(parent.size());
  for (const index_t v : post) {
    result.order[at(place[at(c.head[at(v)])]++)] = order[at(v)];
  }
  for (const index_t v : last) {
    const index_t above = parent[at(v)];
    result.tree.parent.push_back(above < 0 ? -1 : node[at(c.head[at(above)])]);
  }
  return result;
}

}  // namespace gsofa
