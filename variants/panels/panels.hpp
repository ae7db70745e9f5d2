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

/// The panels of a postordered elimination tree and their position lists.
///
/// Panel J is a range of at most `width` vertices such that all parents outside the range are one
/// vertex q(J) (or none: roots). Its position list F_J is the range itself, then, ascending, its
/// boundary: every vertex beyond the range that is in the chol(A + A^T) structure of one of its
/// columns. Every boundary vertex is an ancestor of q(J) or q(J) itself, so that the boundary lies
/// in the lists of all panels on the path from J to the root that begin before it.
/// All arrays are flat; position p of panel J is element position_begin[J] + p of the last three.
struct panel_set {
  std::vector<index_t> begin;            ///< panels + 1: first vertex of each
  std::vector<index_t> panel_of;         ///< n
  std::vector<index_t> parent;           ///< panel of q(J); -1: none
  std::vector<offset_t> position_begin;  ///< panels + 1
  buffer<index_t> columns;               ///< F lists
  buffer<index_t> in_parent;             ///< boundary position p: its position in the parent panel
  buffer<mask_pair> masks;

  [[nodiscard]] index_t panels() const { return static_cast<index_t>(parent.size()); }
  [[nodiscard]] offset_t positions() const { return position_begin.back(); }
  [[nodiscard]] index_t width(index_t j) const {
    return begin[static_cast<std::size_t>(j) + 1] - begin[static_cast<std::size_t>(j)];
  }
  [[nodiscard]] index_t length(index_t j) const {
    const auto k = static_cast<std::size_t>(j);
    return static_cast<index_t>(position_begin[k + 1] - position_begin[k]);
  }
  [[nodiscard]] std::span<const index_t> list(index_t j) const {
    return columns.view().subspan(
        static_cast<std::size_t>(position_begin[static_cast<std::size_t>(j)]),
        static_cast<std::size_t>(length(j)));
  }
};

/// Bytes of the three position arrays per position.
inline constexpr offset_t bytes_per_position = sizeof(mask_pair) + 2 * sizeof(index_t);

/// Cuts the forest of `g` into panels of at most `width` (1..64) vertices: fills begin, panel_of
/// and parent of `s`. O(n).
void cut_panels(const ordered_graph& g, int width, panel_set& s, int threads = 1);

/// Fills the position lists and sets the masks to A. O(positions + nnz). Returns false, with `s`
/// unusable, as soon as there would be more than `limit` positions.
///
/// One thread takes the panels in ascending order. Several find the boundaries from the leaves
/// upwards, each in blocks of its own, and then write lists, maps and masks panel by panel; both
/// give the same arrays. The blocks, 4 bytes per boundary vertex and at most one part-filled block
/// per thread, are freed before the function returns. Scratch per thread: 3 n / 16 bytes.
class position_builder {
 public:
  bool build(const ordered_graph& g, panel_set& s, offset_t limit, int threads = 1);

 private:
  // A set of vertices in three levels: bit v of level 0, and one bit for each nonzero word of the
  // level below. rank_[w] is the number of members before word w, once scanned. Empty between
  // panels.
  struct vertex_set {
    void resize(index_t n);
    void insert(index_t word, mask_t members);
    // Inserts the elements of a list that are >= `end`; runs within one word are one update.
    void insert_list(std::span<const index_t> list, index_t end);
    // Sets rank_ and nonzero_ from the levels above, which it clears; returns the number of
    // members.
    index_t scan();
    [[nodiscard]] index_t rank(index_t v) const;
    // Writes the members, ascending, from `next` on.
    void write(index_t* next) const;
    void clear();

    std::vector<mask_t> word_, summary_, top_;
    std::vector<index_t> rank_, nonzero_;
  };
  // Lists that stay where they are while others are added.
  struct list_blocks {
    index_t* allocate(index_t length);

    std::vector<std::unique_ptr<index_t[]>> blocks_;
    index_t* free_ = nullptr;
    index_t room_ = 0;
  };
  bool build_serial(const ordered_graph& g, panel_set& s, offset_t limit);
  bool build_parallel(const ordered_graph& g, panel_set& s, offset_t limit, int threads);
  // Inserts the neighbours beyond panel j of its columns.
  static void insert_entries(const ordered_graph& g, const panel_set& s, index_t j,
                             vertex_set& set);
  // Writes the masks of panel j and in_parent of its children; `set` is the boundary of j.
  void fill(const ordered_graph& g, panel_set& s, index_t j, const vertex_set& set) const;

  std::vector<vertex_set> sets_;  // one per thread
  std::vector<index_t> first_child_, sibling_;
};

}  // namespace gsofa::detail
