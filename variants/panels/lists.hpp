#pragma once

/// Position lists of panels, and their masks set to A.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "variants/panels/bits.hpp"
#include "variants/panels/buffer.hpp"
#include "variants/panels/cut.hpp"
#include "variants/panels/forest.hpp"
#include "variants/panels/schedule.hpp"

namespace gsofa::panels {

/// A column block at its place in a list: the part of the list that lies in one panel, at
/// consecutive positions.
struct list_block {
  mask_t members;  ///< bit c: vertex c of that panel is in the list
  index_t panel;
  index_t base;  ///< position of the first member
};

/// Panels with their position lists and masks. The position list F_J is the range of J and then,
/// ascending, its boundary: every later vertex in the chol(A + A^T) structure of a vertex of J. All
/// boundary vertices are q(J) or ancestors of q(J), so the list of every panel on the path up from
/// J contains the part of the boundary that is not before that panel. A list is held as blocks,
/// ascending: J itself with all bits set, then, unless J is a root, the panel of q(J), and so on.
struct panel_set : panel_tree {
  std::vector<std::span<const list_block>> blocks;  ///< of each panel
  std::vector<std::span<mask_pair>> masks;          ///< of each panel, by positions
  std::vector<offset_t> position_begin;             ///< panels + 1
  struct alignas(64) memory {
    list_storage<list_block> blocks;
    list_storage<mask_pair> masks;
  };
  std::vector<memory> storage;  ///< of each thread

  [[nodiscard]] offset_t positions() const { return position_begin.back(); }
  [[nodiscard]] index_t length(index_t j) const {
    return static_cast<index_t>(position_begin[at(j) + 1] - position_begin[at(j)]);
  }
  /// F_J, vertex by vertex.
  [[nodiscard]] std::vector<index_t> list(index_t j) const;
  /// The position of vertex v in the list of panel j; -1 if v is not there. O(log blocks).
  [[nodiscard]] index_t place(index_t j, index_t v) const;
};

/// A mask pair and a block take the same number of bytes; `limit` below counts both.
inline constexpr offset_t bytes_per_item = sizeof(mask_pair);
static_assert(sizeof(list_block) == bytes_per_item);

/// Fills the position lists and sets the masks to A. The boundary of a panel is the union of its
/// children's blocks and of A's entries beyond the panel (PROOFS.md, "Boundaries"), so panels are
/// taken from the leaves upwards. Any number of threads gives the same result. O(positions + nnz);
/// 16 bytes per panel and thread.
class position_builder {
 public:
  /// Returns false, with `s` unusable, as soon as there are more than `limit` positions and blocks.
  /// Before: cut_panels() has filled the tree of `s`.
  bool build(const ordered_graph& g, panel_set& s, offset_t limit, int threads = 1);

 private:
  // An entry of A between column c of the panel and a vertex v beyond it: v + 2^32 c, and 2^40 more
  // if it is below the diagonal.
  using outer_entry = std::uint64_t;
  // One thread's list of one panel. The members beyond the panel are held by target panel, in three
  // levels: bit p of `summary` says that panel p has members, a bit of `top` that a word of
  // `summary` is not 0. Between two lists no panel has members.
  struct alignas(64) worker {
    void resize(index_t panels);
    void insert(index_t panel, mask_t members);
    // Makes `list` the list of panel j, of `width` vertices, from the inserted members. Returns its
    // length. After: summary and top are 0; of_panel still has the blocks.
    index_t take(index_t j, index_t width);
    // Makes `list` the list of panel j in `s`.
    void load(const panel_set& s, index_t j);
    void clear();
    void collect(const ordered_graph& g, index_t begin, index_t end);
    void insert_entries(const panel_set& s);
    // Sets the masks of panel j to A and clears the list.
    void set_masks(const panel_set& s, index_t j, bool symmetric) noexcept;

    std::vector<list_block> of_panel;
    std::vector<mask_t> summary, top;
    std::vector<list_block> list;
    // A inside the panel; the last two elements belong to no position. A beyond the panel is the
    // first `outer` elements of `entries`.
    std::array<mask_pair, mask_bits + 2> inner;
    buffer<outer_entry> entries;
    std::size_t outer = 0;
    bool is_clear = false;  // the last run was complete, so no panel has members
    offset_t items = 0;     // positions and blocks not yet added to the sum of all threads
  };
  // Finds the blocks of panel j from those of its children and A. Returns the number of positions.
  index_t find_blocks(const ordered_graph& g, panel_set& s, index_t j, int thread);
  // Sets the masks of one panel whose list is known, if there is any.
  idle_result set_postponed_masks(const ordered_graph& g, panel_set& s, int thread);

  std::vector<worker> workers_;
  subtree_tickets tickets_;
  postponed_panels without_masks_;  // panels with a known list
};

}  // namespace gsofa::panels
