#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "common/ordering.hpp"
#include "common/pattern.hpp"

namespace gsofa::orders {

/// The strongly connected components of a directed graph. Vertices of component c, ascending, are
/// vertices[begin[c] .. begin[c+1]). Edges between components lead to smaller numbers.
struct strong_components {
  std::vector<index_t> of;  ///< the component of each vertex
  std::vector<index_t> begin{0};
  std::vector<index_t> vertices;

  [[nodiscard]] index_t count() const { return static_cast<index_t>(begin.size()) - 1; }
  [[nodiscard]] index_t largest() const {
    index_t most = 0;
    for (index_t c = 0; c < count(); ++c) most = std::max(most, size(c));
    return most;
  }
  [[nodiscard]] index_t size(index_t c) const { return begin[at(c) + 1] - begin[at(c)]; }
};

/// The components of a square pattern. O(n + nnz). Source: Tarjan 1972.
strong_components strong_components_of(const pattern_view& a);

/// Orders a square pattern, with any diagonal.
using order_method = std::function<ordering(const pattern_view&)>;

/// Eliminates components of at most `most` vertices first while they are ends: no other component
/// that is left has an edge to them (or none has an edge from them), so that their elimination does
/// not change the rest. `method` orders the rest as one pattern, and each of these components that
/// is large. With most >= n the result is the block triangular form (Duff & Reid 1978). Returns an
/// order without a separator tree, except if A has one component: then that of `method`. Throws
/// what `method` throws.
ordering order_by_components(const pattern_view& a, index_t most, const order_method& method);

}  // namespace gsofa::orders
