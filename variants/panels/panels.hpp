#pragma once

#include <memory>
#include <span>
#include <vector>

#include "variants/panels/bits.hpp"
#include "variants/panels/buffer.hpp"
#include "variants/panels/forest.hpp"

namespace gsofa::detail {

/// What one position z of a panel says of the panel's columns b .. b+w-1 and of f = F[z].
struct mask_pair {
  mask_t upper;  ///< bit c: U(b+c, f) != 0, f > b+c
  mask_t lower;  ///< bit c: L(f, b+c) != 0, f > b+c
};

/// The part of a panel's list that lies in one panel: consecutive positions.
struct column_block {
  mask_t members;  ///< bit c: vertex c of that panel is in the list
  index_t panel;
  index_t base;  ///< position of the first member
};

/// The panels of a postordered elimination tree and their position lists.
///
/// Panel J is a range of at most `width` vertices such that all parents outside the range are one
/// vertex q(J) (or none: roots). Its position list F_J is the range itself, then, ascending, its
/// boundary: every vertex beyond the range that is in the chol(A + A^T) structure of one of its
/// columns. Every boundary vertex is an ancestor of q(J) or q(J) itself, so that the boundary lies
/// in the lists of all panels on the path from J to the root that begin before it.
/// A list is held as column blocks, ascending: first J itself, all of its bits set, then, unless J
/// is a root, the panel of q(J). Position z of J is element position_begin[J] + z of `masks`.
struct panel_set {
  std::vector<index_t> begin;                         ///< panels + 1: first vertex of each
  std::vector<index_t> panel_of;                      ///< n
  std::vector<index_t> parent;                        ///< panel of q(J); -1: none
  std::vector<std::span<const column_block>> blocks;  ///< of each panel, in `storage`
  std::vector<offset_t> position_begin;               ///< panels + 1
  buffer<mask_pair> masks;
  std::vector<list_storage<column_block>> storage;  ///< one for each thread

  [[nodiscard]] index_t panels() const { return static_cast<index_t>(parent.size()); }
  [[nodiscard]] offset_t positions() const { return position_begin.back(); }
  [[nodiscard]] index_t width(index_t j) const {
    return begin[static_cast<std::size_t>(j) + 1] - begin[static_cast<std::size_t>(j)];
  }
  [[nodiscard]] index_t length(index_t j) const {
    const auto k = static_cast<std::size_t>(j);
    return static_cast<index_t>(position_begin[k + 1] - position_begin[k]);
  }
  /// F_J, vertex by vertex.
  [[nodiscard]] std::vector<index_t> list(index_t j) const;
  /// The position of vertex v in the list of panel j; -1 if it is not there. O(log blocks).
  [[nodiscard]] index_t place(index_t j, index_t v) const;
};

/// Masks and column blocks take as many bytes each; `limit` below counts both.
inline constexpr offset_t bytes_per_item = sizeof(mask_pair);
static_assert(sizeof(column_block) == bytes_per_item);

/// Cuts the forest of `g` into panels of at most `width` (1..64) vertices: fills begin, panel_of
/// and parent of `s`. O(n).
void cut_panels(const ordered_graph& g, int width, panel_set& s, int threads = 1);

/// Fills the position lists and sets the masks to A. O(positions + nnz). Returns false, with `s`
/// unusable, as soon as there would be more than `limit` positions and column blocks.
///
/// The lists are found from the leaves upwards, by several threads in subtrees first; then masks
/// are written panel by panel. Any number of threads gives the same. Scratch per thread: 26 bytes
/// per panel.
class position_builder {
 public:
  bool build(const ordered_graph& g, panel_set& s, offset_t limit, int threads = 1);

 private:
  // A set of vertices beyond a panel, by panels, and in three levels: bit p of summary_ says that
  // panel p has any, a bit of top_ that a word of summary_ has. Empty between panels.
  struct boundary_set {
    void resize(index_t panels);
    void insert(index_t panel, mask_t members);
    // Moves the set to `out` in ascending order; `base` is the first position. Returns the first
    // position after it.
    index_t take(std::vector<column_block>& out, index_t base);

    std::vector<mask_t> members_, summary_, top_;
  };
  // Where the vertices of each panel of one list are.
  struct places {
    [[nodiscard]] index_t position(index_t panel, int c) const {
      const column_block& b = of_panel[at(panel)];
      return b.base + count(b.members & below(c));
    }
    std::vector<column_block> of_panel;
  };
  struct worker {
    boundary_set set;
    places where;
    std::vector<column_block> list;
  };
  // Finds the column blocks of panel j from those of its children and A.
  void find_blocks(const ordered_graph& g, panel_set& s, index_t j, int thread);
  // Sets the masks of panel j to A.
  static void fill(const ordered_graph& g, panel_set& s, index_t j, places& where) noexcept;

  std::vector<worker> workers_;
  std::vector<index_t> first_child_, sibling_;
};

}  // namespace gsofa::detail
