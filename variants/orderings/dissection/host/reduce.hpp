#pragma once

// Reductions: vertices that are eliminated before any other, and the graph that is left. Every
// method can order that graph; expand() makes an order of the original graph of the result.

#include <span>
#include <vector>

#include "common/pattern.hpp"
#include "variants/orderings/dissection/host/team.hpp"
#include "variants/orderings/dissection/nested_dissection.hpp"

namespace gsofa::orders {

/// The elimination of some vertices of a symmetric graph.
struct reduction {
  std::vector<index_t> removed;          ///< eliminated vertices in their order
  std::vector<offset_t> front_start{0};  ///< removed + 1
  std::vector<index_t> front;  ///< the neighbours of each removed vertex at its elimination
  std::vector<index_t> kept;   ///< vertices of `rest`, ascending; empty if none is removed
  /// The elimination graph of the kept vertices: row i is that of kept[i]. Rows are sorted, without
  /// diagonal. Empty if no vertex is removed.
  pattern rest;

  /// The graph that remains to be ordered; s: the graph that was reduced.
  [[nodiscard]] pattern_view graph(const pattern_view& s) const {
    return removed.empty() ? s : rest.view();
  }
  /// The vertices that remain, of the n vertices of that graph.
  [[nodiscard]] index_t left(index_t n) const { return n - static_cast<index_t>(removed.size()); }
};

/// Reduces a symmetric graph (rows sorted, without diagonal, any shape). degree: 0 removes no
/// vertex; 1 removes simplicial vertices, whose elimination adds no edge; d > 1 removes also
/// vertices of at most d neighbours where this leaves a small part of the graph, and then vertices
/// that have become simplicial. Isolated vertices
/// stay, and change nothing for other vertices. The result does not depend on the number of
/// threads. Throws std::bad_alloc, error if the system refuses a thread. Source: Rose 1970
/// (simplicial vertices); Ost, Schulz & Strash 2021; Liu 1985 (independent sets of vertices of
/// small degree).
reduction reduce(team& crew, const pattern_view& s, int degree);
reduction reduce(const pattern_view& s, int degree, int threads);

/// Appends the reduction of r.rest.
void append(reduction& r, reduction next);

/// The order of the original graph, given an order of r.graph(), and its separator tree if `rest`
/// has one. A removed vertex belongs to the node of the first vertex of its front, or, if that is
/// an inner node, to a new leaf below it. Removed vertices that no kept vertex follows, those of
/// components that vanish, are the last node.
dissection expand(const reduction& r, dissection rest);

}  // namespace gsofa::orders
