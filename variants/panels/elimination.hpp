#pragma once

#include <cstddef>

#include "variants/panels/panels.hpp"

namespace gsofa::detail {

/// The diagonal block of a factored panel of width w, as sets of the panel's columns; rows below w
/// are set. Where the boundary is short, the two graphs hold edges in place of what is reached.
struct diagonal_block {
  bit_matrix l_reach;  ///< of column k: rows i > k reached by edges k -> i with L(i, k) != 0
  bit_matrix u_reach;  ///< of row k: columns j > k reached by edges k -> j with U(k, j) != 0
  mask_t unpruned;     ///< k without any s in the panel with L(s, k) != 0 and U(k, s) != 0
};

/// Work done, for the counting build.
struct panel_work {
  offset_t updates = 0;     ///< (panel, target panel) pairs
  offset_t targets = 0;     ///< rows or columns that were updated
  offset_t words_read = 0;  ///< positions read by updates
  offset_t words_or = 0;    ///< nonzero mask pairs that were OR-ed into a target
};

/// Eliminates panels of one panel_set; scratch of one thread.
class panel_eliminator {
 public:
  explicit panel_eliminator(panel_set& s) : s_(&s) {}

  /// Completes the masks of panel j. All panels below it must have updated it.
  void factor(index_t j);
  /// Updates the ancestors of panel j, the panel that was factored last. Other threads may update
  /// panels after `own` at the same time.
  void update(index_t j, index_t own);

  [[nodiscard]] const panel_work& work() const { return work_; }

 private:
  // Which rows of U (or columns of L) of this panel update each target of one target panel, by
  // rows: for a row r, the set of targets that take it.
  struct routes {
    bit_matrix targets;  // [r], valid where `active` has r
    mask_t active;
    void clear() { active = 0; }
    void add(mask_t sources, mask_t target);
    // Of one row, or of none.
    [[nodiscard]] bool single() const { return (active & (active - 1)) == 0; }
    [[nodiscard]] int row() const { return active == 0 ? 0 : lowest(active); }
    [[nodiscard]] mask_t targets_of_row() const { return active == 0 ? 0 : targets[row()]; }
    // Union of targets[r] over the r in m.
    [[nodiscard]] mask_t of(mask_t m) const;
  };
  void close_boundary(mask_pair* masks, index_t w, index_t length);
  // Adds the routes to the targets of block b; returns what is left of `unpruned`.
  mask_t find_routes(const column_block& b, const mask_pair* masks, mask_t unpruned);
  template <bool Shared>
  void push(index_t j, std::size_t block);
  // ORs what positions [0, length) of `from` have for the targets into those of `to`.
  template <bool Shared>
  void push_run(const mask_pair* from, index_t length, mask_pair* to);

  panel_set* s_;
  diagonal_block d_{};
  routes upper_{}, lower_{};
  panel_work work_;
};

}  // namespace gsofa::detail
