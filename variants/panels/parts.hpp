#pragma once

#include <span>
#include <vector>

#include "common/types.hpp"
#include "variants/panels/waves.hpp"

namespace gsofa::panels {

/// What a part of the panels has to do with a panel.
enum class panel_kind : unsigned char {
  foreign,  ///< nothing
  own,      ///< the panel and all below it are of this part alone
  top,      ///< panels of several parts lie below it
};

/// Panels divided among devices or ranks (PROOFS.md, "Parts"). Part k owns the panels cut[k] ..
/// cut[k+1] - 1 except those in `top`. `top` holds all panels from cut[k] on that are ancestors of
/// panel cut[k] - 1, for any 0 < k < parts. So except in `top`, no panel of a part is an ancestor
/// or a descendant of a panel of another part, and the ancestors of part k's panels from cut[k + 1]
/// on are those of panel cut[k + 1] - 1.
struct panel_parts {
  std::vector<index_t> cut;  ///< parts + 1, ascending
  std::vector<index_t> top;  ///< ascending
};

/// Divides panels, numbered in postorder, into `parts` ranges with about the same number of
/// vertices. Panel j has the vertices begin[j] .. begin[j+1] - 1. Each cut is within an eighth of a
/// part of its ideal place, or next to it, where 8 a + d is least: a vertices in the ancestors
/// behind the cut, d vertices from the ideal place. (On a 3-D grid in nested dissection, a vertex
/// at the top has eight times the average number of positions.) Looks at the panels near the cuts
/// and their ancestors only.
panel_parts divide_panels(std::span<const index_t> begin, std::span<const index_t> parent,
                          int parts);

/// What part k has to do with each panel: with the ancestors of its own panels, and with panels of
/// `top` in its range, as with `top`.
std::vector<panel_kind> kinds_of_part(const panel_parts& parts, std::span<const index_t> parent,
                                      std::size_t k);

/// The panels of `top` as a forest of their own: panel i is top[i], and its vertices have the
/// numbers from begin[i] on.
struct top_panels {
  std::vector<index_t> panel;
  std::vector<index_t> begin;   ///< panels + 1
  std::vector<index_t> parent;  ///< -1: root

  [[nodiscard]] index_t vertices() const { return begin.empty() ? 0 : begin.back(); }
};
top_panels top_of(const panel_parts& parts, std::span<const index_t> begin,
                  std::span<const index_t> parent);

}  // namespace gsofa::panels
