#pragma once

/// A partial matching on the device with dual variables, and augmentation along disjoint paths of
/// entries with reduced cost 0.

#include <cstdint>

#include "common/matching.hpp"
#include "common/random.hpp"
#include "variants/device/row_teams.hpp"
#include "variants/device/simt_grid.hpp"

#if defined(GSOFA_GPU)

namespace gsofa::gpu::matchings {

inline constexpr std::uint32_t none = 0xffffffffU;

struct assignment {
  index_t n;
  const offset_t* row_ptr;
  const index_t* col_idx;
  const std::int64_t* cost;   ///< nnz; no_candidate: the entry is never matched
  std::int64_t* u;            ///< duals of rows
  std::int64_t* v;            ///< duals of columns
  std::uint32_t* col_of_row;  ///< `none` where unmatched
  std::uint32_t* row_of_col;

  GSOFA_DEVICE offset_t degree(offset_t row) const { return row_ptr[row + 1] - row_ptr[row]; }
  GSOFA_DEVICE std::int64_t reduced(std::int64_t row_dual, offset_t e) const {
    return cost[e] - row_dual - v[col_idx[e]];
  }
  GSOFA_DEVICE void match(std::uint32_t row, std::uint32_t col) const {
    col_of_row[row] = col;
    row_of_col[col] = row;
  }
};

/// Operations on rows, for for_rows(). candidates() calls visit(e, column) for the entries of a row
/// that may be matched; each thread of the team takes its share.
struct candidates_op {
  static constexpr offset_t longest = long_row;
  assignment m;

  GSOFA_DEVICE offset_t length(index_t row) const { return m.degree(row); }
  GSOFA_DEVICE void finish() const {}
  template <class Team, class Visit>
  GSOFA_DEVICE void candidates(const Team& team, offset_t row, offset_t length,
                               Visit&& visit) const {
    const offset_t begin = length < 0 ? 0 : m.row_ptr[row];
    for (offset_t k = team.rank(); k < length; k += team.size()) {
      if (m.cost[begin + k] != no_candidate) visit(begin + k, m.col_idx[begin + k]);
    }
  }
};

/// What a look at the distances of all columns finds.
struct distances_seen {
  std::uint64_t least_far = ~std::uint64_t{0};  ///< the least that is not below the bound
  std::uint32_t found = 0;                      ///< unmatched columns below the bound
};

/// Of three values the first is of this step, the second of the next, the third of the previous,
/// cyclically.
struct search_control {
  std::uint32_t rows[3] = {};     ///< of the lists
  std::uint32_t columns[3] = {};  ///< of a forest: claimed
  distances_seen seen[3];
  std::uint64_t farthest = ~std::uint64_t{0};  ///< no distance beyond it is searched
  std::uint64_t bound = 0;                     ///< result: distances below it are final
  std::uint32_t found = 0;      ///< result: unmatched columns below the bound; 0: none is reached
  std::uint32_t augmented = 0;  ///< result: paths
};

/// A search from all unmatched rows at once, in steps.
struct search_view {
  assignment m;
  std::uint64_t* words;    ///< of a column: its distance or its claim; `~0` before
  std::uint32_t* marks;    ///< of a row: the last step that lists it or its root; `none` before
  std::uint32_t* end;      ///< of the tree of a root: its least unmatched column; `none` before
  std::uint32_t* list;     ///< rows of this step and of the next, n each
  std::uint32_t* columns;  ///< claimed in this step
  search_control* control;

  GSOFA_DEVICE std::uint32_t row_at(index_t k, std::uint32_t step) const {
    return list[step % 2 * static_cast<std::size_t>(m.n) + static_cast<std::size_t>(k)];
  }
  GSOFA_DEVICE void push(std::uint32_t row, std::uint32_t step) const {
    const std::uint32_t k = simt::atomic_add(control->rows + step % 3, std::uint32_t{1});
    list[step % 2 * static_cast<std::size_t>(m.n) + k] = row;
  }
  GSOFA_DEVICE std::uint32_t rows(std::uint32_t step) const {
    return simt::load_shared_state(control->rows + step % 3);
  }
};

/// A forest of alternating paths of entries with reduced cost 0, a tree for each unmatched row,
/// grown level by level: rows claim columns along entries, columns lead to their rows along the
/// matching. A column belongs to one tree, hence paths of different trees are disjoint. A tree that
/// has claimed an unmatched column, its end, grows no more. If no tree has an end, no alternating
/// path of such entries leads from an unmatched row to an unmatched column (Berge 1957).
/// A claim is a hash above the row, so that rows with the same columns get different ones; a column
/// of an earlier level has only the row.
struct claim_op : candidates_op {
  search_view s;
  std::uint32_t level;

  GSOFA_DEVICE static std::uint64_t claim_of(std::uint32_t row, index_t col) {
    const std::uint64_t pair = std::uint64_t{row} << 32 | static_cast<std::uint32_t>(col);
    return (mix64(pair) | std::uint64_t{1} << 63) >> 32 << 32 | row;
  }
  GSOFA_DEVICE offset_t length(index_t k) const {
    const std::uint32_t row = s.row_at(k, level);
    return s.end[s.marks[row]] == none ? m.degree(row) : -1;
  }
  template <class Team>
  GSOFA_DEVICE void row(Team& team, index_t k, offset_t length) {
    if (length < 0) return;
    const std::uint32_t row = s.row_at(k, level);
    const std::int64_t dual = m.u[row];
    candidates(team, row, length, [&](offset_t e, index_t col) {
      if (m.reduced(dual, e) != 0) return;
      if (simt::load_shared_state(s.words + col) >> 63 == 0) return;
      if (simt::atomic_min(s.words + col, claim_of(row, col)) != ~std::uint64_t{0}) return;
      s.columns[simt::atomic_add(s.control->columns + level % 3, std::uint32_t{1})] =
          static_cast<std::uint32_t>(col);
    });
  }
};

/// The columns claimed in a level go to their rows' trees, the rows matched to them to the next
/// level.
GSOFA_DEVICE void settle_columns(const search_view& s, std::uint32_t level) {
  const offset_t columns = simt::load_shared_state(s.control->columns + level % 3);
  for (const offset_t k : grid_items(columns)) {
    const std::uint32_t col = s.columns[k];
    const auto from = static_cast<std::uint32_t>(s.words[col]);
    s.words[col] = from;
    const std::uint32_t root = s.marks[from];
    const std::uint32_t row = s.m.row_of_col[col];
    if (row == none) {
      simt::atomic_min(s.end + root, col);
    } else {
      s.marks[row] = root;
      s.push(row, level + 1);
    }
  }
}

/// Matches the rows and columns of the path to the end of each tree the other way.
GSOFA_DEVICE void augment_paths(const search_view& s) {
  for (const offset_t k : grid_items(s.m.n)) {
    if (s.marks[k] != static_cast<std::uint32_t>(k) || s.end[k] == none) continue;
    for (std::uint32_t col = s.end[k]; col != none;) {
      const auto row = static_cast<std::uint32_t>(s.words[col]);
      const std::uint32_t before = s.m.col_of_row[row];
      s.m.match(row, col);
      col = before;
    }
    simt::atomic_add(&s.control->augmented, std::uint32_t{1});
  }
}

/// Grows the forest and augments, by one grid that is resident at once.
[[maybe_unused]] GSOFA_KERNEL void augment_kernel(search_view s) {
  auto* const shared = simt::shared_memory<row_memory>();
  const bool first = simt::block_index() == 0 && simt::thread_index() == 0;
  for (const offset_t k : grid_items(s.m.n)) {
    const auto row = static_cast<std::uint32_t>(k);
    if (s.m.col_of_row[k] != none) continue;
    s.marks[k] = row;
    s.push(row, 0);
  }
  simt::sync_grid();
  for (std::uint32_t level = 0, rows = 0; (rows = s.rows(level)) > 0; ++level) {
    if (first) s.control->columns[(level + 2) % 3] = 0;
    claim_op op{{s.m}, s, level};
    share_rows(op, rows, shared);
    simt::sync_grid();
    if (first) s.control->rows[level % 3] = 0;
    settle_columns(s, level);
    simt::sync_grid();
  }
  augment_paths(s);
}

}  // namespace gsofa::gpu::matchings

#endif
