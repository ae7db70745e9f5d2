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
};

/// A row of U and a column of L, or one of them: a position that has the bit of it takes its
/// targets, each side for itself.
struct route {
  mask_couple source;  ///< one bit each, or none
  mask_couple targets;

  [[nodiscard]] mask_couple of(mask_couple position) const {
    return (position & source) != 0 ? targets : mask_couple{0, 0};
  }
};

/// Target panels of one panel, and their routes.
struct update_list {
  struct update {
    std::size_t block;         ///< the column block that has the targets
    std::size_t first, count;  ///< its routes
  };
  std::vector<update> updates;  ///< ascending by blocks
  std::vector<route> routes;    ///< none where the pattern is symmetric

  void clear();
  /// Adds the targets of a later block; `rows` and `columns`: which take rows of U, columns of L.
  void add(std::size_t block, const target_routes& rows, const target_routes& columns);
  /// Adds the updates of later blocks, without those by pruned rows and columns.
  void add(const update_list& later, mask_t pruned);
  [[nodiscard]] std::span<const route> routes_of(const update& u) const {
    return std::span(routes).subspan(u.first, u.count);
  }
};

/// Updates by some column blocks, searched for from a mask of rows that were not pruned before the
/// first one of all; and what is left of that mask by these blocks.
struct alignas(64) update_piece {
  update_list found;
  mask_t unpruned = 0;
};

/// What the boundary of a panel of width w needs of its factored diagonal block, and the panels
/// that it updates. Rows of matrices are those below w.
struct factored_panel {
  index_t panel = -1;
  bit_matrix l_reach{};      ///< of column k: rows i > k reached by edges k -> i with L(i, k) != 0
  bit_matrix u_reach{};      ///< of row k: columns j > k reached by edges k -> j with U(k, j) != 0
  bool closed = false;       ///< else the two hold edges in place of what is reached
  std::size_t complete = 1;  ///< blocks before this one have been closed, and searched for updates
  mask_t unpruned = 0;       ///< rows that may update targets of later blocks; none: all is found
  update_list found;
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
class alignas(64) panel_eliminator {
 public:
  /// `parent`: of each vertex in the elimination tree, where the pattern is symmetric; else empty.
  explicit panel_eliminator(panel_set& s, std::span<const index_t> parent = {})
      : s_(&s), parent_(parent), symmetric_(!parent.empty()) {}

  /// Completes the masks of the vertices of panel j, and finds what it updates by the blocks before
  /// the first one that begins at position `limit` or after it. All panels below it must have
  /// updated it. Valid until the next call.
  const factored_panel& factor(index_t j, index_t limit = max_index);
  /// Finds the other updates of the panel that was factored last.
  void search();
  /// The same in pieces. Finds the updates by the blocks from .. to - 1 of a panel, perhaps another
  /// thread's, and closes them. Other threads may search other blocks at the same time.
  void search(const factored_panel& f, std::size_t from, std::size_t to, update_piece& out);
  /// Adds what the searches of all blocks from f.complete on have found, in pieces, in their order,
  /// to the panel that was factored last.
  void join_pieces(std::span<const update_piece> pieces);
  /// Completes the masks of the blocks from .. to - 1 of a factored panel, perhaps another
  /// thread's, and updates its ancestors with them. Other threads may update panels after `own`
  /// and sweep other blocks at the same time.
  void sweep(const factored_panel& f, std::size_t from, std::size_t to, index_t own);

  [[nodiscard]] const panel_work& work() const { return work_; }

 private:
  [[nodiscard]] mask_pair* masks_of(index_t j) const { return s_->masks[at(j)].data(); }
  mask_t factor_block(mask_pair* masks, int w) noexcept;
  void factor_symmetric_block(index_t begin, mask_pair* masks, int w) noexcept;
  std::size_t search(const factored_panel& f, std::size_t from, std::size_t to, mask_t& unpruned,
                     update_list& found);
  mask_t find_routes(const factored_panel& f, const column_block& b, mask_t unpruned);
  void close(const factored_panel& f, const column_block& b) const noexcept;
  void sweep_blocks(const factored_panel& f, std::size_t from, std::size_t to,
                    index_t own) noexcept;
  template <bool Shared>
  void push_block(const factored_panel& f, const update_list::update& u, std::size_t block,
                  const column_block*& there) const;
  template <bool Shared, std::size_t Count>
  void push_block(const factored_panel& f, const update_list::update& u, std::size_t block,
                  const column_block*& there) const;
  template <class Push>
  void for_each_place(const factored_panel& f, const update_list::update& u, std::size_t block,
                      const column_block*& there, const Push& push) const;
  template <bool Shared>
  void push_targets(const factored_panel& f, const update_list::update& u) const;
  void count_work(const factored_panel& f, const update_list::update& u, std::size_t block);

  panel_set* s_;
  std::span<const index_t> parent_;
  bool symmetric_;
  factored_panel f_;
  target_routes upper_{}, lower_{};  // of the column block that is looked at
  panel_work work_;
  std::vector<const column_block*> there_;
};

}  // namespace gsofa::detail
