#pragma once

/// Factor and update on the host (README.md): masks that hold A become the masks of L + U.

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "variants/panels/lists.hpp"

namespace gsofa::panels {

/// Which rows of U (or columns of L) of a panel the targets of one target panel take.
struct route {
  bit_matrix targets;  ///< [r]: the targets that take row r; valid if r is active
  mask_t active;       ///< rows with targets

  void clear() { active = 0; }
  /// The target takes all rows of `sources`.
  void add(mask_t sources, mask_t target);
};

/// The routes to one target panel.
struct target_routes {
  route upper;  ///< of rows of U, to columns
  route lower;  ///< of columns of L, to rows

  void clear() { upper.clear(), lower.clear(); }
  [[nodiscard]] bool empty() const { return (upper.active | lower.active) == 0; }
};

/// Routes as update_targets() reads them: a row of U with the targets that take it, and next to it
/// a column of L with its targets; either may be missing.
struct source_pair {
  mask_couple source;   ///< one bit each, or none
  mask_couple targets;  ///< the targets that take it

  /// What a position adds to its targets by this row and this column.
  [[nodiscard]] mask_couple of(mask_couple position) const {
    return (position & source) != 0 ? targets : mask_couple{0, 0};
  }
};

/// The updates that a panel makes: its target panels, and the routes to each.
struct update_list {
  struct update {
    std::size_t block;         ///< the column block that holds the targets
    std::size_t first, count;  ///< its source pairs
  };
  std::vector<update> updates;       ///< ascending by blocks
  std::vector<source_pair> sources;  ///< empty if the pattern is symmetric

  void clear();
  /// Adds the update of a later block.
  void add(std::size_t block, const target_routes& routes);
  /// Adds the updates of later blocks, without the rows and columns in `pruned`.
  void add(const update_list& later, mask_t pruned);
  [[nodiscard]] std::span<const source_pair> sources_of(const update& u) const {
    return std::span(sources).subspan(u.first, u.count);
  }
};

/// The updates of some column blocks, from a search that started with the rows that were unpruned
/// before the first piece; and the rows that these blocks leave unpruned.
struct alignas(64) update_piece {
  update_list found;
  mask_t unpruned = 0;
};

/// What a boundary needs of the factored diagonal block of a panel of width w, and the panel's
/// updates. Rows of matrices are those below w.
struct factored_panel {
  index_t panel = -1;
  bit_matrix l_reach{};      ///< of column k: rows i > k reached by edges k -> i with L(i, k) != 0
  bit_matrix u_reach{};      ///< of row k: columns j > k reached by edges k -> j with U(k, j) != 0
  bool closed = false;       ///< false: both hold edges instead of what they reach
  std::size_t complete = 1;  ///< blocks before this one are closed, and their updates are found
  mask_t unpruned = 0;       ///< rows that may update targets of later blocks; 0: none does
  update_list found;
};

/// Work done, for the counting build.
struct panel_work {
  offset_t updates = 0;    ///< (panel, target panel) pairs
  offset_t targets = 0;    ///< rows or columns that were updated
  offset_t positions = 0;  ///< positions that updates read
  offset_t nonzero = 0;    ///< nonzero mask pairs that were ORed into a target
};

/// Eliminates panels of one panel_set; the scratch of one thread. If the pattern is symmetric, L is
/// U^T, each panel has the one target q(J), and only one side is worked on (PROOFS.md, "Symmetric
/// patterns").
class alignas(64) panel_eliminator {
 public:
  /// `parent`: elimination-tree parent of each vertex if the pattern is symmetric; else empty.
  explicit panel_eliminator(panel_set& s, std::span<const index_t> parent = {})
      : s_(&s), parent_(parent), symmetric_(!parent.empty()) {}

  /// Factors the diagonal block of panel j, and the boundary's blocks before the first one that
  /// begins at position `limit` or later, and finds the updates of these blocks. Before: all panels
  /// below j have updated it. The result is valid until the next call.
  const factored_panel& factor(index_t j, index_t limit = max_index);
  /// Finds the updates of the panel that was factored last that factor() has not found.
  void find_remaining_updates();
  /// Finds the updates of the blocks from .. to - 1 of a factored panel, which may be another
  /// thread's, and factors these blocks. Other threads may take other blocks at the same time.
  void find_updates_of_piece(const factored_panel& f, std::size_t from, std::size_t to,
                             update_piece& out);
  /// Adds the updates of pieces that cover all blocks from f.complete on, in their order, to the
  /// panel that was factored last.
  void join_pieces(std::span<const update_piece> pieces);
  /// Factors the blocks from .. to - 1 of the boundary of a panel with a factored diagonal block,
  /// which may be another thread's, and updates the panel's ancestors with them. Other threads may
  /// update panels after `own` and take other blocks at the same time.
  void factor_boundary_and_update(const factored_panel& f, std::size_t from, std::size_t to,
                                  index_t own);

  [[nodiscard]] const panel_work& work() const { return work_; }

 private:
  [[nodiscard]] mask_pair* masks_of(index_t j) const { return s_->masks[at(j)].data(); }
  mask_t factor_diagonal(mask_pair* masks, int w) noexcept;
  void factor_symmetric_diagonal(index_t begin, mask_pair* masks, int w) noexcept;
  std::size_t find_updates(const factored_panel& f, std::size_t from, std::size_t to,
                           mask_t& unpruned, update_list& found);
  mask_t find_routes(const factored_panel& f, const list_block& b, mask_t unpruned);
  void factor_boundary(const factored_panel& f, const list_block& b) const noexcept;
  void update_targets(const factored_panel& f, std::size_t b, index_t own) noexcept;
  template <bool Shared>
  void update_block(const factored_panel& f, const update_list::update& u, std::size_t block,
                    const list_block*& there) const;
  template <bool Shared, std::size_t Count>
  void update_block(const factored_panel& f, const update_list::update& u, std::size_t block,
                    const list_block*& there) const;
  template <class Update>
  void for_each_place(const factored_panel& f, const update_list::update& u, std::size_t block,
                      const list_block*& there, const Update& update) const;
  template <bool Shared>
  void update_among_targets(const factored_panel& f, const update_list::update& u) const;
  void count_work(const factored_panel& f, const update_list::update& u, std::size_t block);

  panel_set* s_;
  std::span<const index_t> parent_;
  bool symmetric_;
  factored_panel f_;
  target_routes routes_{};  // to the target panel of the current block
  panel_work work_;
  std::vector<const list_block*> there_;
};

}  // namespace gsofa::panels
