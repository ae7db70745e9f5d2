#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "variants/panels/bits.hpp"
#include "variants/panels/buffer.hpp"
#include "variants/panels/forest.hpp"
#include "variants/panels/schedule.hpp"

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
/// is a root, the panel of q(J).
struct panel_set {
  std::vector<index_t> begin;                         ///< panels + 1: first vertex of each
  std::vector<index_t> panel_of;                      ///< n
  std::vector<index_t> parent;                        ///< panel of q(J); -1: none
  std::vector<index_t> first;                         ///< first panel of the subtree of each
  std::vector<std::span<const column_block>> blocks;  ///< of each panel
  std::vector<std::span<mask_pair>> masks;            ///< of each panel, by positions
  std::vector<offset_t> position_begin;               ///< panels + 1
  struct alignas(64) memory {
    list_storage<column_block> blocks;
    list_storage<mask_pair> masks;
  };
  std::vector<memory> storage;  ///< of each thread

  /// Calls body(c) for the children c of panel j.
  template <class Body>
  void for_each_child(index_t j, Body&& body) const {
    for (index_t c = j - 1; c >= first[at(j)]; c = first[at(c)] - 1) body(c);
  }
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

/// Cuts the forest of `g` into panels of at most `width` (1..64) vertices: fills begin, panel_of,
/// parent and first of `s`. O(n).
void cut_panels(const ordered_graph& g, int width, panel_set& s, int threads = 1);

/// Fills the position lists and sets the masks to A. O(positions + nnz). Returns false, with `s`
/// unusable, as soon as there would be more than `limit` positions and column blocks.
///
/// Panels are taken from the leaves upwards, by several threads in subtrees first. Any number of
/// threads gives the same. Scratch per thread: 16 bytes per panel.
class position_builder {
 public:
  bool build(const ordered_graph& g, panel_set& s, offset_t limit, int threads = 1);

 private:
  // An entry of A between column c of the panel and a vertex v beyond it: v + 2^32 c, and 2^40 more
  // if it is below the diagonal.
  using outer_entry = std::uint64_t;
  // One thread's list of one panel. Of vertices beyond the panel, by panels, in three levels: bit p
  // of summary_ says that panel p has any, a bit of top_ that a word of summary_ has. No panel has
  // any between lists.
  struct alignas(64) worker {
    void resize(index_t panels);
    void insert(index_t panel, mask_t members);
    // The list of panel j, of so many vertices, as far as members are inserted; ascending.
    index_t take(index_t j, index_t width);
    // The list of panel j as it is in `s`.
    void load(const panel_set& s, index_t j);
    void clear();
    void collect(const ordered_graph& g, index_t begin, index_t end);
    void insert_entries(const panel_set& s);
    // Sets the masks of panel j to A and clears the list.
    void set_masks(const panel_set& s, index_t j, bool symmetric) noexcept;

    std::vector<column_block> of_panel;
    std::vector<mask_t> summary, top;
    std::vector<column_block> list;
    // A within the panel, the last two elements of none; then A beyond it, the first `outer`
    // elements.
    std::array<mask_pair, mask_bits + 2> inner;
    buffer<outer_entry> entries;
    std::size_t outer = 0;
    bool is_clear = false;  // no panel has members, of a run that was not cut short
    offset_t items = 0;     // positions and blocks that the sum over all threads does not have yet
  };
  // Finds the column blocks of panel j from those of its children and A. Returns its positions.
  index_t find_blocks(const ordered_graph& g, panel_set& s, index_t j, int thread);
  // Sets the masks of one panel whose list is known, if there is any.
  idle_result set_postponed_masks(const ordered_graph& g, panel_set& s, int thread);

  std::vector<worker> workers_;
  subtree_tickets tickets_;
  postponed_panels without_masks_;  // their lists are known
};

}  // namespace gsofa::detail
