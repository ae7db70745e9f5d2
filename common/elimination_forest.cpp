#include "common/elimination_forest.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "common/error.hpp"
#include "common/preprocess.hpp"

namespace gsofa {

namespace {

bool is_root(index_t parent, std::size_t n) { return parent == -1 || at(parent) == n; }

// The root of v's tree among `ancestor`, whose paths are halved.
index_t root_of(std::vector<index_t>& ancestor, index_t v) {
  while (ancestor[at(v)] != v) {
    ancestor[at(v)] = ancestor[at(ancestor[at(v)])];
    v = ancestor[at(v)];
  }
  return v;
}

}  // namespace

void validate_forest(std::span<const index_t> parent) {
  for (std::size_t v = 0; v < parent.size(); ++v) {
    const index_t p = parent[v];
    if (p < -1 || (p >= 0 && at(p) <= v) || (p >= 0 && at(p) > parent.size())) {
      throw input_error("parent: vertex " + std::to_string(v) + " has " + std::to_string(p) +
                        ", which is no later vertex of " + std::to_string(parent.size()) +
                        ", and neither -1 nor that number");
    }
  }
}

forest_levels levels_of_forest(std::span<const index_t> parent) {
  validate_forest(parent);
  std::vector<index_t> height(parent.size(), 0);
  forest_levels out;
  for (std::size_t v = 0; v < parent.size(); ++v) {
    // All children of v are before v, so that its height is final.
    const std::size_t h = at(height[v]);
    if (out.begin.size() < h + 2) out.begin.resize(h + 2, 0);
    ++out.begin[h + 1];
    if (is_root(parent[v], parent.size())) continue;
    index_t& above = height[at(parent[v])];
    above = std::max(above, height[v] + 1);
  }
  for (std::size_t h = 0; h + 1 < out.begin.size(); ++h) out.begin[h + 1] += out.begin[h];
  out.vertices.resize(parent.size());
  std::vector<index_t> next(out.begin.begin(), out.begin.end() - 1);
  for (std::size_t v = 0; v < parent.size(); ++v) {
    out.vertices[at(next[at(height[v])]++)] = static_cast<index_t>(v);
  }
  return out;
}

cholesky_counts counts_of_cholesky(const pattern_view& a, const pattern_view& t,
                                   std::span<const index_t> parent,
                                   std::span<const index_t> weight) {
  const std::size_t n = parent.size();
  const auto weight_of = [&](index_t i) { return weight.empty() ? 1 : weight[at(i)]; };
  const std::vector<index_t> post = postorder(parent);
  // Of each vertex: the first position of its subtree, the first one of the last leaf found in its
  // row subtree, and that leaf.
  std::vector<index_t> first(n, -1), last_first(n, -1), leaf(n, -1), ancestor(n);
  std::vector<index_t> level(n, 0);  // edges up to the root
  cholesky_counts out{std::vector<index_t>(n), std::vector<index_t>(n, 0)};
  std::vector<index_t>& counts = out.columns;
  for (std::size_t k = 0; k < n; ++k) {
    index_t j = post[k];
    counts[at(j)] = first[at(j)] == -1 ? weight_of(j) : 0;
    for (; j != -1 && first[at(j)] == -1; j = parent[at(j)]) {
      first[at(j)] = static_cast<index_t>(k);
    }
  }
  for (std::size_t v = 0; v < n; ++v) ancestor[v] = static_cast<index_t>(v);
  for (std::size_t v = n; v-- > 0;) {
    if (parent[v] != -1) level[v] = level[at(parent[v])] + 1;
  }
  for (const index_t j : post) {
    const index_t up = parent[at(j)];
    if (up != -1) counts[at(up)] -= weight_of(j);
    for (const std::span<const index_t> row : {a.row(j), t.row(j)}) {
      for (const index_t i : row) {
        // j is a leaf of the row subtree of i iff nothing of its own subtree was a neighbour of i.
        if (i <= j || first[at(j)] <= last_first[at(i)]) continue;
        counts[at(j)] += weight_of(i);
        last_first[at(i)] = first[at(j)];
        const index_t before = std::exchange(leaf[at(i)], j);
        // Two leaves in a row: from their least common ancestor on one path counts twice.
        const index_t top = before == -1 ? i : root_of(ancestor, before);
        if (before != -1) counts[at(top)] -= weight_of(i);
        out.rows[at(i)] += level[at(j)] - level[at(top)];
      }
    }
    if (up != -1) ancestor[at(j)] = up;
  }
  for (const index_t j : post) {
    if (parent[at(j)] != -1) counts[at(parent[at(j)])] += counts[at(j)];
  }
  for (std::size_t v = 0; v < n; ++v) counts[v] -= weight_of(static_cast<index_t>(v));
  return out;
}

}  // namespace gsofa
