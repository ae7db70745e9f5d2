#pragma once

#include <vector>

#include "variants/panels/panels.hpp"

namespace gsofa::detail {

/// The diagonal block of a factored panel, as sets of the panel's columns. Where the boundary is
/// short, the two graphs hold edges in place of what is reached.
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
  /// Updates the ancestors of panel j, the panel that was factored last. `Shared`: other threads
  /// update the same masks at the same time.
  template <bool Shared>
  void update(index_t j);

  [[nodiscard]] const panel_work& work() const { return work_; }

 private:
  // Which rows of U (or columns of L) of this panel update each target of one target panel, by
  // rows: for a row r, the set of targets that take it.
  struct routes {
    bit_matrix targets;  // [r], valid where `active` has r
    mask_t active;
    void clear() { active = 0; }
    void add(mask_t sources, mask_t target);
    // words[z - from] = union of targets[r] over the r in the mask of position z, for z in
    // [from, to).
    template <mask_t mask_pair::*Side>
    void apply(const mask_pair* masks, index_t from, index_t to, mask_t* words) const;
  };
  void locate(index_t target_panel, index_t y, index_t length);

  panel_set* s_;
  diagonal_block d_{};
  routes upper_{}, lower_{};
  panel_work work_;
  // where_[z]: position of F_j[z] in the list of panel at_.
  std::vector<index_t> where_;
  index_t at_ = -1;
  std::vector<mask_t> upper_words_, lower_words_;
};

}  // namespace gsofa::detail
