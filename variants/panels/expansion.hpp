#pragma once

#include <vector>

#include "common/variant.hpp"
#include "variants/panels/panels.hpp"
#include "variants/panels/schedule.hpp"

namespace gsofa::detail {

/// Counts entries of rows of L, and of U beside the diagonal, while panels are factored. Where
/// several threads may count entries of one row, each has a sum of its own.
class row_counter {
 public:
  /// Counts go to the rows of the two lists of n numbers. `of`: with several threads, the subtrees
  /// that are one thread's each.
  void start(const ordered_graph& g, const panel_set& s, const subtree_tickets& of, int threads,
             std::vector<index_t>& l_row_counts, std::vector<index_t>& u_row_counts);
  /// Sets the counts of the begin of all rows: 0 of L, 1 of U.
  void clear(int threads);
  /// Adds the column blocks from .. to - 1 of a panel, which are factored: entries of its columns
  /// of L to their rows, and of its rows of U. in_pieces: others count blocks of this panel
  /// meanwhile.
  void count(int thread, const panel_task& task, std::size_t from, std::size_t to,
             bool in_pieces) noexcept;
  /// All blocks of a panel above the subtrees have been counted, hence all of its rows, which those
  /// below it have, too.
  void finish_panel(index_t panel, bool in_pieces);
  /// Adds the sums of all threads to the counts of the rows of one finished panel, if there is any.
  idle_result add_sums();

 private:
  // Of a panel above the subtrees: vertex v has number v + place.
  struct sum_rows {
    index_t place;
    bool of_u;  // blocks were counted in pieces
  };
  const ordered_graph* g_ = nullptr;
  const panel_set* s_ = nullptr;
  index_t* l_counts_ = nullptr;
  index_t* u_counts_ = nullptr;
  int threads_ = 1;
  std::vector<sum_rows> rows_;  // of each panel
  index_t size_ = 0;            // vertices above the subtrees
  postponed_panels finished_;
  std::vector<buffer<index_t>> sums_;  // of each thread: rows of L, then of U
};

/// True if L(i, k) != 0, k < i in the numbering of `g`. O(log blocks).
bool has_l(const panel_set& s, index_t i, index_t k);

/// Digests and explicit rows of L and U, in the caller's numbering, of factored panels.
/// The counts are those of a row_counter over all panels. Adds to `out` the
/// digest and the pattern as far as `wants` has them. O(positions + entries); rows are sorted where
/// the numbering differs.
void expand(const ordered_graph& g, const panel_set& s, std::span<const index_t> l_row_counts,
            std::span<const index_t> u_row_counts, want_set wants, result& out);

/// Column counts of L and the density of L + U, in the caller's numbering, of factored panels.
/// O(positions) where vertices are in the caller's order, else O(entries).
factor_profile profile_panels(const ordered_graph& g, const panel_set& s, index_t cells);

}  // namespace gsofa::detail
