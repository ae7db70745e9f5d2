#pragma once

#include <span>
#include <vector>

#include "common/types.hpp"
#include "variants/panels/waves.hpp"

namespace gsofa {

/// What a part of the panels has to do with a panel.
enum class panel_kind : unsigned char {
  foreign,  ///< nothing
  own,      ///< the panel and all below it are of this part alone
  top,      ///< panels of several parts lie below it
};

/// Panels divided among workers. Part k has the panels cut[k] .. cut[k+1] - 1
/// but for those of `top`. `top`: all panels from cut[k] on that are ancestors of panel cut[k] - 1,
/// for any 0 < k < parts.
///
/// No panel of a part is an ancestor or a descendant of one of another part, `top` aside: let i < j
/// be panels, j an ancestor of i, and i < cut[k] <= j. The subtree of j is contiguous, hence has
/// cut[k] - 1 if that is not j, and j is in `top`. For the same reason the ancestors of the panels
/// of part k that are not before cut[k + 1] are those of panel cut[k + 1] - 1.
struct panel_parts {
  std::vector<index_t> cut;  ///< parts + 1, ascending
  std::vector<index_t> top;  ///< ascending
};

/// Divides the panels of a tree, children before parents and subtrees contiguous, where panel j has
/// the vertices begin[j] .. begin[j+1] - 1, into `parts` ranges of about as many vertices. Each cut
/// lies within an eighth of a part of its place, or beside it, where eight times the vertices of
/// the ancestors behind it and those that it is off are fewest: on a 3-D grid in an order of nested
/// dissection vertices at the top have eight times as many positions as all. Looks at the panels
/// near the cuts and at their ancestors alone.
panel_parts divide_panels(std::span<const index_t> begin, std::span<const index_t> parent,
                          int parts);

/// What part k has to do with each panel: with the ancestors of its own panels, and with panels of
/// `top` in its range, as with `top`.
std::vector<panel_kind> kinds_of_part(const panel_parts& parts, std::span<const index_t> parent,
                                      std::size_t k);

/// The panels of `top` by themselves: panel i is top[i], its vertices are numbered from begin[i] on
/// in their order.
struct top_panels {
  std::vector<index_t> panel;
  std::vector<index_t> begin;   ///< one more
  std::vector<index_t> parent;  ///< -1: none

  [[nodiscard]] index_t vertices() const { return begin.empty() ? 0 : begin.back(); }
};
top_panels top_of(const panel_parts& parts, std::span<const index_t> begin,
                  std::span<const index_t> parent);

}  // namespace gsofa
