// Separator trees for direct(): from elimination trees, with merged subtrees and split nodes.

#include "variants/orderings/direction_nodes.hpp"

#include <algorithm>
#include <utility>

#include "common/preprocess.hpp"

namespace gsofa::orders {

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
  const pattern p = permute(a, order, order);
  const std::vector<index_t> parent = elimination_tree_of_sum(p, transpose(p));
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

std::vector<index_t> heads_of_subtrees(const separator_tree& t, index_t most) {
  const auto nodes = static_cast<index_t>(t.parent.size());
  std::vector<index_t> first(at(nodes));  // least node of the subtree
  std::vector<index_t> below(at(nodes), 1);
  for (index_t k = 0; k < nodes; ++k) first[at(k)] = k;
  for (index_t k = 0; k < nodes; ++k) {
    const index_t above = t.parent[at(k)];
    if (above < 0) continue;
    first[at(above)] = std::min(first[at(above)], first[at(k)]);
    below[at(above)] += below[at(k)];
  }
  std::vector<index_t> head(at(nodes));
  for (index_t k = nodes; k-- > 0;) {
    const index_t above = t.parent[at(k)];
    head[at(k)] = k;
    if (above < 0) continue;
    const index_t h = head[at(above)];
    const bool is_consecutive = below[at(h)] == h - first[at(h)] + 1;
    if (is_consecutive && t.start[at(h) + 1] - t.start[at(first[at(h)])] <= most) {
      head[at(k)] = h;
    }
  }
  return head;
}

separator_tree merge_nodes(const separator_tree& t, std::span<const index_t> head) {
  const std::size_t nodes = t.parent.size();
  separator_tree merged;
  std::vector<index_t> number(nodes, -1);  // of a head
  for (std::size_t k = 0; k < nodes; ++k) {
    if (at(head[k]) != k) continue;
    number[k] = static_cast<index_t>(merged.start.size()) - 1;
    merged.start.push_back(t.start[k + 1]);
  }
  for (std::size_t k = 0; k < nodes; ++k) {
    if (at(head[k]) != k) continue;
    const index_t above = t.parent[k];
    merged.parent.push_back(above < 0 ? -1 : number[at(head[at(above)])]);
  }
  return merged;
}

separator_tree split_nodes(const separator_tree& t, index_t most) {
  separator_tree split;
  std::vector<index_t> first(t.parent.size());  // of the parts of a node
  std::vector<index_t> last(t.parent.size());
  for (std::size_t k = 0; k < t.parent.size(); ++k) {
    const index_t end = t.start[k + 1];
    first[k] = static_cast<index_t>(split.start.size()) - 1;
    while (end - split.start.back() > most) split.start.push_back(split.start.back() + most);
    split.start.push_back(end);
    last[k] = static_cast<index_t>(split.start.size()) - 2;
  }
  for (std::size_t k = 0; k < t.parent.size(); ++k) {
    for (index_t part = first[k]; part < last[k]; ++part) split.parent.push_back(part + 1);
    split.parent.push_back(t.parent[k] < 0 ? -1 : first[at(t.parent[k])]);
  }
  return split;
}

}  // namespace gsofa::orders
