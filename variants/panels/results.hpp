#pragma once

/// Counts, digests, rows and profiles of factored panels.

#include <vector>

#include "common/variant.hpp"
#include "variants/panels/lists.hpp"
#include "variants/panels/schedule.hpp"

namespace gsofa::panels {

/// Counts the entries of the rows of L and of U (with the diagonal) while panels are factored. Rows
/// that several threads may count have one sum per thread.
class row_counter {
 public:
  /// Sets the counts, n numbers each, to those of the diagonal. `of`: with several threads, the
  /// small subtrees, each of which one thread counts.
  void start(const ordered_graph& g, const panel_set& s, const subtree_tickets& of, int threads,
             std::vector<index_t>& l_row_counts, std::vector<index_t>& u_row_counts);
  /// Sets the counts of all rows to those of the diagonal: 0 in L, 1 in U.
  void clear(int threads);
  /// Counts the factored blocks from .. to - 1 of a panel: the entries of its columns of L, by
  /// their rows, and of its rows of U. in_pieces: other threads count other blocks of the panel.
  void count(int thread, const panel_task& task, std::size_t from, std::size_t to,
             bool in_pieces) noexcept;
  /// All blocks of a panel above the subtrees are counted. So are all panels below it, hence its
  /// rows are complete.
  void finish_panel(index_t panel, bool in_pieces);
  /// Adds the sums of all threads to the counts of the rows of one finished panel, if there is one.
  idle_result add_sums();

 private:
  // A panel above the subtrees: vertex v has its sums at v + place.
  struct sum_rows {
    index_t place;
    bool of_u;  // rows of U have sums, too: the panel was counted in pieces
  };
  const ordered_graph* g_ = nullptr;
  const panel_set* s_ = nullptr;
  index_t* l_counts_ = nullptr;
  index_t* u_counts_ = nullptr;
  int threads_ = 1;
  std::vector<sum_rows> rows_;  // by panel
  index_t size_ = 0;            // vertices above the subtrees
  postponed_panels finished_;
  std::vector<buffer<index_t>> sums_;  // by thread: rows of L, then of U
};

/// Whether L(i, k) != 0, for k < i in the numbering of the panels. O(log blocks).
bool has_l(const panel_set& s, index_t i, index_t k);

/// Adds the digest and the sorted rows of L and U of factored panels to `out`, in the caller's
/// numbering, as far as `wants` names them. The counts come from a row_counter over all panels.
/// O(positions + entries), and O(entries log(row)) if vertices were relabelled.
void expand(const ordered_graph& g, const panel_set& s, std::span<const index_t> l_row_counts,
            std::span<const index_t> u_row_counts, want_set wants, result& out);

/// Column counts of L and the density of L + U of factored panels, in the caller's numbering.
/// O(positions), or O(entries) if vertices were relabelled.
factor_profile profile_panels(const ordered_graph& g, const panel_set& s, index_t cells);

}  // namespace gsofa::panels
