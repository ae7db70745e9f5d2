#pragma once

#include <cstddef>
#include <vector>

#include "variants/panels/forest.hpp"

namespace gsofa::panels {

/// Panels of a postordered elimination tree. Panel J is a range of consecutive vertices such that
/// all parents outside the range are one vertex q(J), or there are none (roots). Panels are
/// numbered in postorder.
struct panel_tree {
  std::vector<index_t> begin;     ///< panels + 1: first vertex of each
  std::vector<index_t> panel_of;  ///< n: panel of each vertex
  std::vector<index_t> parent;    ///< panel of q(J); -1: root
  std::vector<index_t> first;     ///< first panel of the subtree of each

  [[nodiscard]] index_t panels() const { return static_cast<index_t>(parent.size()); }
  [[nodiscard]] index_t width(index_t j) const { return begin[at(j) + 1] - begin[at(j)]; }
  /// Calls body(c) for the children c of panel j, descending.
  template <class Body>
  void for_each_child(index_t j, Body&& body) const {
    for (index_t c = j - 1; c >= first[at(j)]; c = first[at(c)] - 1) body(c);
  }
};

/// Cuts the forest of `g` into panels of at most `width` (1..64) vertices. One sweep: v joins the
/// panel of v - 1 if v is the parent of v - 1 and the panel has room; neighbouring panels with the
/// same q are joined as long as they fit. Any number of threads gives the same panels. O(n).
void cut_panels(const ordered_graph& g, int width, panel_tree& out, int threads = 1);

}  // namespace gsofa::panels
