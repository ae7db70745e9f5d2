#pragma once

/// Stage 2 on the device: elimination forest -> panels. Twin: panels.hpp.

#include "variants/panels/panel_arrays.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

/// Lists of the children of vertices that have several, ascending; the list of vertex p begins at
/// first_child(p). depth[v] is the number of vertices up to v whose parents are behind v: the place
/// of v on a stack where each vertex takes the place of its children.
struct sibling_lists {
  const std::uint32_t* children;
  const index_t* depth;
  index_t* list;

  /// Vertices up to p less depth[p] - 1 are the children of p and of all before it.
  GSOFA_DEVICE offset_t first_child(index_t p) const {
    return offset_t{p} + 1 - depth[p] - children[p];
  }
};

/// Counts the vertices with siblings that have an edge from their parent into their subtree. The
/// child of j above its neighbour i < j is the first that is not before i.
struct justification {
  sibling_lists siblings;
  std::uint32_t* marks;  ///< n zeros; null: nothing is counted

  /// Looks at an entry; returns 1 if it is the first found of a vertex.
  GSOFA_DEVICE std::uint32_t visit(index_t row, index_t column) const {
    const index_t i = row < column ? row : column;
    const index_t j = row < column ? column : row;
    if (i == j || siblings.children[j] < 2) return 0;
    offset_t low = siblings.first_child(j);
    for (offset_t high = low + siblings.children[j] - 1; low < high;) {
      const offset_t middle = (low + high) / 2;
      if (siblings.list[middle] < i) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    const index_t child = siblings.list[low];
    std::uint32_t* const mark = marks + child;
    return simt::load_shared_state(mark) == 0 && simt::atomic_exchange(mark, std::uint32_t{1}) == 0
               ? 1
               : 0;
  }
};

/// Cuts the forest into panels of at most `width` vertices; lists siblings unless the forest is
/// known to be the elimination tree.
void cut_panels(const panel_arrays& p, index_t width, bool is_etree);

/// What counts the vertices that are justified, if `counts`: the forest is the elimination tree iff
/// they are as many as have siblings.
justification justification_of(const panel_arrays& p, bool counts);

/// Adds one number of each thread to the total.
GSOFA_DEVICE void add_to(std::uint32_t* total, std::uint32_t mine) {
  for (unsigned step = 16; step > 0; step /= 2) mine += simt::shuffle_xor(mine, step);
  if (lane_index() == 0 && mine != 0) simt::atomic_add(total, mine);
}

#endif

}  // namespace gsofa::panels
