#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "common/types.hpp"

namespace gsofa::detail {

/// A binary tree of separators over a postordered elimination tree: 2 * domains - 1 nodes, each a
/// range of consecutive vertices, possibly empty. Nodes by level: the leaves, which are the
/// domains, from left to right, then their parents, ..., the root last. The ranges partition 0 ..
/// n-1, and for each inner node no edge of A + A^T joins its left and its right subtree.
struct separator_tree {
  std::vector<index_t> first, size;
};

/// Cuts the etree into `domains` (a power of 2) domains. `parent` (-1: root) is that of the etree
/// of a symmetric pattern whose order is a postorder of it. O(n log(domains)).
///
/// Fact: let the vertices of a range [a, b) have no neighbours before a, or only in ranges that
/// were cut off already. Then any m splits it into [a, m) and [m, s) with the separator [s, b),
/// where s = min(parent[m-1], b): an ancestor w >= m of a vertex before m has m-1 in its subtree,
/// as subtrees are consecutive, hence w >= parent[m-1]; and neighbours in A + A^T are ancestor and
/// descendant. The cut takes the m that makes the lesser of the two sides largest, and among these
/// the one with the least separator. A range without a branch becomes one domain and an empty one.
inline separator_tree cut_etree(std::span<const index_t> parent, int domains) {
  const auto nodes = static_cast<std::size_t>(2 * domains - 1);
  separator_tree tree{.first = std::vector<index_t>(nodes, 0),
                      .size = std::vector<index_t>(nodes, 0)};
  tree.size.back() = static_cast<index_t>(parent.size());
  // Level by level from the root; `begin` is the first node of a level of `width` nodes.
  std::size_t begin = nodes - 1;
  for (std::size_t width = 1; begin > 0; width *= 2) {
    const std::size_t below = begin - 2 * width;
    for (std::size_t k = 0; k < width; ++k) {
      const index_t a = tree.first[begin + k];
      const index_t b = a + tree.size[begin + k];
      index_t middle = b;
      index_t separator = b;
      index_t best = 0;
      for (index_t m = a + 1; m < b; ++m) {
        const index_t up = parent[static_cast<std::size_t>(m - 1)];
        const index_t s = up < 0 ? b : std::min(up, b);
        const index_t lesser = std::min(m - a, s - m);
        if (lesser > best || (lesser == best && best > 0 && s > separator)) {
          best = lesser;
          middle = m;
          separator = s;
        }
      }
      const std::size_t left = below + 2 * k;
      tree.first[left] = a;
      tree.size[left] = middle - a;
      tree.first[left + 1] = middle;
      tree.size[left + 1] = separator - middle;
      tree.first[begin + k] = separator;
      tree.size[begin + k] = b - separator;
    }
    begin = below;
  }
  return tree;
}

}  // namespace gsofa::detail
