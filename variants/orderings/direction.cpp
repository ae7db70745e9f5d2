// Direction: rearranges an order inside its nodes for A = L U of an unsymmetric pattern.
//
// If the vertices before a node are eliminated, the reduced graph of the node and of the vertices
// after it does not depend on their order (Rose & Tarjan 1978). So each node can be ordered
// by itself, its operations counted exactly, and the cheaper of two orders kept.

#include "variants/orderings/direction.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "common/preprocess.hpp"
#include "variants/orderings/direction_front.hpp"

namespace gsofa::orders {

namespace {

// Without a separator tree, subtrees of the elimination tree with at most this many vertices are
// nodes, and no chain is longer.
constexpr index_t most_of_leaf = 128;
constexpr index_t most_of_chain = 4096;

struct node_list {
  std::vector<index_t> order;     // old vertex by position
  std::vector<index_t> start{0};  // nodes + 1
};

// Nodes from the elimination tree of A + A^T in the order given: maximal subtrees of at most
// most_of_leaf vertices, and chains of the vertices above, each up to where large subtrees meet.
node_list nodes_of_tree(const pattern_view& a, std::span<const index_t> order, index_t leaf,
                        index_t chain) {
  const pattern p = permute(a, order, order);
  const std::vector<index_t> parent = elimination_tree_of_sum(p, transpose(p));
  const std::vector<index_t> post = postorder(parent);
  const index_t n = a.n_rows;
  std::vector<index_t> size(at(n), 1);
  std::vector<index_t> large_children(at(n), 0);
  std::vector<index_t> large_child(at(n), -1);
  for (const index_t v : post) {
    if (parent[at(v)] < 0) continue;
    const index_t above = parent[at(v)];
    size[at(above)] += size[at(v)];
    if (size[at(v)] > leaf) {
      ++large_children[at(above)];
      large_child[at(above)] = v;
    }
  }
  // Node of each vertex, numbered by the last position of the node in the postorder.
  std::vector<index_t> head(at(n), -1);  // of a vertex: one vertex of its node
  std::vector<index_t> length(at(n), 0);
  std::vector<index_t> last(at(n), -1);  // by head
  for (std::size_t k = post.size(); k-- > 0;) {
    const index_t v = post[k];
    if (size[at(v)] > leaf) continue;
    const index_t above = parent[at(v)];
    head[at(v)] = above >= 0 && size[at(above)] <= leaf ? head[at(above)] : v;
  }
  for (std::size_t k = 0; k < post.size(); ++k) {
    const index_t v = post[k];
    if (size[at(v)] > leaf) {
      const bool follows =
          large_children[at(v)] == 1 && length[at(head[at(large_child[at(v)])])] < chain;
      head[at(v)] = follows ? head[at(large_child[at(v)])] : v;
    }
    ++length[at(head[at(v)])];
    last[at(head[at(v)])] = static_cast<index_t>(k);
  }
  node_list nodes;
  std::vector<index_t> start(at(n), -1);  // by head
  for (std::size_t k = 0; k < post.size(); ++k) {
    const index_t h = head[at(post[k])];
    if (last[at(h)] != static_cast<index_t>(k)) continue;
    start[at(h)] = nodes.start.back();
    nodes.start.push_back(nodes.start.back() + length[at(h)]);
  }
  nodes.order.resize(at(n));
  for (const index_t v : post) nodes.order[at(start[at(head[at(v)])]++)] = order[at(v)];
  return nodes;
}

// Visits the nodes in their order, with the front of each.
class director {
 public:
  director(const pattern_view& a, node_list nodes)
      : nodes_(std::move(nodes)),
        a_(permute(a, nodes_.order, nodes_.order)),
        t_(transpose(a_)),
        node_of_(at(a.n_rows)),
        local_(at(a.n_rows), -1),
        waiting_(nodes_.start.size()) {
    for (std::size_t k = 0; k + 1 < nodes_.start.size(); ++k) {
      for (index_t v = nodes_.start[k]; v < nodes_.start[k + 1]; ++v) {
        node_of_[at(v)] = static_cast<index_t>(k);
      }
    }
  }

  directed_order run() {
    directed_order result;
    for (std::size_t k = 0; k + 1 < nodes_.start.size(); ++k) {
      if (nodes_.start[k] < nodes_.start[k + 1]) visit(k, result);
    }
    result.order.order = std::move(nodes_.order);
    return result;
  }

 private:
  // What a node leaves: the reduced graph of its boundary.
  struct remainder {
    std::vector<index_t> boundary;  // positions, ascending
    bit_rows rows;
  };

  void visit(std::size_t k, directed_order& result) {
    const index_t begin = nodes_.start[k];
    const index_t end = nodes_.start[k + 1];
    std::vector<remainder> children = std::move(waiting_[k]);
    remainder mine{boundary_of(begin, end, children), {}};
    front f = assemble(begin, end, mine.boundary, children);
    children.clear();
    const markowitz_order other = end - begin > 1 ? order_by_markowitz(f) : markowitz_order{};
    f.eliminate(l_, u_);
    double flops = 0;
    for (std::size_t i = 0; i < l_.size(); ++i) flops += pivot_flops(l_[i], u_[i]);
    result.flops_before += flops;
    if (!other.order.empty() && other.flops < flops) {
      flops = other.flops;
      std::vector<index_t> old(nodes_.order.begin() + begin, nodes_.order.begin() + end);
      for (index_t i = 0; i < end - begin; ++i) {
        nodes_.order[at(begin + i)] = old[at(other.order[at(i)])];
      }
    }
    result.flops_after += flops;
    if (mine.boundary.empty()) return;
    keep_boundary(f, mine.rows);
    const auto above = at(node_of_[at(mine.boundary.front())]);
    waiting_[above].push_back(std::move(mine));
  }

  // Also numbers the vertices of the front.
  std::vector<index_t> boundary_of(index_t begin, index_t end,
                                   const std::vector<remainder>& children) {
    std::vector<index_t> boundary;
    const auto add = [&](index_t v) {
      if (v < end || local_[at(v)] >= 0) return;
      local_[at(v)] = 0;
      boundary.push_back(v);
    };
    for (index_t v = begin; v < end; ++v) {
      for (const index_t w : a_.row(v)) add(w);
      for (const index_t w : t_.row(v)) add(w);
    }
    for (const remainder& c : children) {
      for (const index_t v : c.boundary) add(v);
    }
    std::ranges::sort(boundary);
    for (std::size_t i = 0; i < boundary.size(); ++i) {
      local_[at(boundary[i])] = end - begin + static_cast<index_t>(i);
    }
    return boundary;
  }

  front assemble(index_t begin, index_t end, const std::vector<index_t>& boundary,
                 const std::vector<remainder>& children) {
    front f;
    f.own = end - begin;
    f.size = f.own + static_cast<index_t>(boundary.size());
    f.rows.assign(f.size, f.size);
    const auto local = [&](index_t v) { return v < end ? v - begin : local_[at(v)]; };
    for (index_t i = 0; i < f.size; ++i) f.rows.set(i, i);
    for (index_t v = begin; v < end; ++v) {
      for (const index_t w : a_.row(v)) {
        if (w >= begin) f.rows.set(v - begin, local(w));
      }
      for (const index_t w : t_.row(v)) {
        if (w >= begin) f.rows.set(local(w), v - begin);
      }
    }
    std::vector<std::uint64_t> mask(f.rows.words);
    for (const remainder& c : children) add(c, local, mask, f);
    for (const index_t v : boundary) local_[at(v)] = -1;
    return f;
  }

  // Rows that are equal are translated once.
  template <class Local>
  static void add(const remainder& c, const Local& local, std::vector<std::uint64_t>& mask,
                  front& f) {
    const std::uint64_t* last = nullptr;
    for (std::size_t i = 0; i < c.boundary.size(); ++i) {
      const std::uint64_t* row = c.rows.row(static_cast<index_t>(i));
      if (last == nullptr || !std::equal(row, row + c.rows.words, last)) {
        std::ranges::fill(mask, 0);
        for (std::size_t w = 0; w < c.rows.words; ++w) {
          for (std::uint64_t word = row[w]; word != 0; word &= word - 1) {
            const index_t j = local(c.boundary[64 * w + at(std::countr_zero(word))]);
            mask[at(j / 64)] |= std::uint64_t{1} << (j % 64);
          }
        }
        last = row;
      }
      std::uint64_t* to = f.rows.row(local(c.boundary[i]));
      for (std::size_t w = 0; w < mask.size(); ++w) to[w] |= mask[w];
    }
  }

  static void keep_boundary(const front& f, bit_rows& kept) {
    const index_t size = f.size - f.own;
    kept.assign(size, size);
    const auto first = at(f.own / 64);
    const int shift = f.own % 64;
    for (index_t i = 0; i < size; ++i) {
      const std::uint64_t* from = f.rows.row(f.own + i) + first;
      const std::size_t words = f.rows.words - first;
      for (std::size_t w = 0; w < kept.words; ++w) {
        kept.row(i)[w] = from[w] >> shift;
        if (shift > 0 && w + 1 < words) kept.row(i)[w] |= from[w + 1] << (64 - shift);
      }
    }
  }

  node_list nodes_;
  pattern a_;
  pattern t_;
  std::vector<index_t> node_of_;
  std::vector<index_t> local_;
  std::vector<std::vector<remainder>> waiting_;  // by the node that assembles them
  std::vector<index_t> l_, u_;
};

}  // namespace

directed_order direct(const pattern_view& a, ordering o) {
  if (a.n_rows != a.n_cols) throw input_error("direction: the pattern is not square");
  node_list nodes;
  if (o.separators.empty()) {
    nodes = nodes_of_tree(a, o.order, most_of_leaf, most_of_chain);
  } else {
    nodes = {o.order, o.separators.start};
  }
  directed_order result = director(a, std::move(nodes)).run();
  o.order = std::move(result.order.order);
  result.order = std::move(o);
  return result;
}

ordering best_direction(const pattern_view& a, ordering o, int /*threads*/) {
  if (structural_symmetry(a) == 1) return o;
  directed_order found = direct(a, o);
  return found.flops_after < found.flops_before ? std::move(found.order) : o;
}

}  // namespace gsofa::orders
