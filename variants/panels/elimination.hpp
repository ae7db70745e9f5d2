#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "variants/panels/panels.hpp"

namespace gsofa::detail {

/// Which rows of U (or columns of L) of a panel update each target of one target panel, by rows:
/// for a row r, the set of targets that take it.
struct target_routes {
  bit_matrix targets;  ///< [r], valid where `active` has r
  mask_t active;

  void clear() { active = 0; }
  void add(mask_t sources, mask_t target);
  // Union of targets[r] over the r in m.
  [[nodiscard]] mask_t of(mask_t m) const {
    mask_t found = 0;
    for (m &= active; m != 0; m &= m - 1) found |= targets[lowest(m)];
    return found;
  }
};

/// The routes of a few rows, in turn.
struct few_routes {
  static constexpr int most = 4;

  void set(const target_routes& routes) {
    size = count(routes.active);
    targets[0] = 0;
    int k = 0;
    for (mask_t m = routes.active; m != 0 && k < most; m &= m - 1) {
      rows[at(k)] = lowest(m);
      targets[at(k++)] = routes.targets[lowest(m)];
    }
  }
  // Of the first one, or none.
  [[nodiscard]] mask_t of_first(mask_t m) const {
    return (mask_t{0} - (m >> rows[0] & 1U)) & targets[0];
  }
  [[nodiscard]] mask_t of(mask_t m) const {
    mask_t found = 0;
    for (int k = 0; k < size; ++k) found |= (mask_t{0} - (m >> rows[at(k)] & 1U)) & targets[at(k)];
    return found;
  }

  int size = 0;  ///< more than `most`: only the first ones are here
  std::array<int, most> rows{};
  std::array<mask_t, most> targets{};
};

/// What the boundary of a panel of width w needs of its factored diagonal block, and the panels
/// that it updates. Rows of matrices are those below w.
struct factored_panel {
  struct update {
    std::size_t block;  ///< the column block that has the targets
    target_routes upper, lower;
    few_routes few_upper, few_lower;  ///< the same
  };
  index_t panel = -1;
  bit_matrix l_reach{};      ///< of column k: rows i > k reached by edges k -> i with L(i, k) != 0
  bit_matrix u_reach{};      ///< of row k: columns j > k reached by edges k -> j with U(k, j) != 0
  bool closed = false;       ///< else the two hold edges in place of what is reached
  std::size_t complete = 1;  ///< blocks before this one have been closed
  std::vector<update> updates;
  std::size_t used = 0;  ///< the first ones of `updates`, ascending by blocks
};

/// Work done, for the counting build.
struct panel_work {
  offset_t updates = 0;     ///< (panel, target panel) pairs
  offset_t targets = 0;     ///< rows or columns that were updated
  offset_t words_read = 0;  ///< positions read by updates
  offset_t words_or = 0;    ///< nonzero mask pairs that were OR-ed into a target
};

/// Eliminates panels of one panel_set; scratch of one thread. Where the pattern is symmetric, L is
/// U^T, and each panel has one target, q(J), which takes every vertex of the boundary: the parent
/// of all columns of J that have none in J (Liu 1990). Then only one side is worked on.
class panel_eliminator {
 public:
  /// `parent`: of each vertex in the elimination tree, where the pattern is symmetric; else empty.
  explicit panel_eliminator(panel_set& s, std::span<const index_t> parent = {})
      : s_(&s), parent_(parent), symmetric_(!parent.empty()) {}

  /// Completes the masks of the vertices of panel j, and finds what it updates. All panels below it
  /// must have updated it.
  const factored_panel& factor(index_t j);
  /// Completes the masks of the blocks from .. to - 1 of a factored panel, perhaps another
  /// thread's, and updates its ancestors with them. Other threads may update panels after `own`
  /// and sweep other blocks at the same time.
  void sweep(const factored_panel& f, std::size_t from, std::size_t to, index_t own);

  [[nodiscard]] const panel_work& work() const { return work_; }

 private:
  [[nodiscard]] mask_pair* masks_of(index_t j) const { return s_->masks[at(j)].data(); }
  mask_t factor_block(mask_pair* masks, int w) noexcept;
  void factor_symmetric_block(index_t begin, mask_pair* masks, int w) noexcept;
  void find_updates(mask_t unpruned);
  void find_symmetric_update();
  static mask_t find_routes(const factored_panel& f, const column_block& b, const mask_pair* masks,
                            mask_t unpruned, factored_panel::update& out);
  void close(const factored_panel& f, const column_block& b) const noexcept;
  void sweep_blocks(const factored_panel& f, std::size_t from, std::size_t to,
                    index_t own) noexcept;
  template <bool Shared>
  void push_block(const factored_panel& f, const factored_panel::update& u, std::size_t block,
                  const column_block*& there);
  template <class Push>
  void for_each_run(const factored_panel& f, const factored_panel::update& u, std::size_t block,
                    const column_block*& there, const Push& push) const;
  template <bool Shared>
  void push_targets(const factored_panel& f, const factored_panel::update& u) const;
  void count_work(const factored_panel& f, const factored_panel::update& u, std::size_t block);

  panel_set* s_;
  std::span<const index_t> parent_;
  bool symmetric_;
  factored_panel f_;
  panel_work work_;
  std::vector<const column_block*> there_;
};

}  // namespace gsofa::detail
