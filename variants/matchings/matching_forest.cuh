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
  GSOFA_DEVICE bool is_tight(std::int64_t row_dual, offset_t e) const {
    return cost[e] != no_candidate && reduced(row_dual, e) == 0;
  }
  GSOFA_DEVICE void match(std::uint32_t row, std::uint32_t col) const {
    col_of_row[row] = col;
    row_of_col[col] = row;
  }
};

/// for_rows() by all blocks of the grid.
template <class Op>
GSOFA_DEVICE void share_rows(Op& op, offset_t rows, row_memory* shared) {
  const offset_t per_block = (rows - 1) / simt::grid_size() + 1;
  const offset_t from = per_block * simt::block_index();
  for_rows(op, from, from + per_block < rows ? from + per_block : rows, shared);
}

struct forest_control {
  std::uint32_t rows[3] = {};     ///< of the lists: of this level, of the next, of the previous
  std::uint32_t columns[3] = {};  ///< claimed in this level, the next, the previous
  std::uint32_t augmented = 0;    ///< the result: paths
};

/// A forest of alternating paths of entries with reduced cost 0, a tree for each unmatched row,
/// grown level by level: rows claim columns along entries, columns lead to their rows along the
/// matching. A column belongs to one tree, hence paths of different trees are disjoint. A tree that
/// has claimed an unmatched column, its end, grows no more. If no tree has an end, no alternating
/// path of such entries leads from an unmatched row to an unmatched column (Berge 1957).
struct forest_view {
  assignment m;
  /// Of a column: the best claim of its level, a hash above the row, so that rows with the same
  /// columns get different ones; in later levels only the row. `~0` before.
  std::uint64_t* claim;
  std::uint32_t* root;     ///< of a row
  std::uint32_t* end;      ///< of the tree of a root: its least unmatched column; `none` before
  std::uint32_t* list[2];  ///< rows of a level, by its parity
  std::uint32_t* columns;  ///< claimed in this level
  forest_control* control;

  GSOFA_DEVICE void append(std::uint32_t row, std::uint32_t its_root, std::uint32_t level) const {
    root[row] = its_root;
    list[level % 2][simt::atomic_add(control->rows + level % 3, std::uint32_t{1})] = row;
  }
  GSOFA_DEVICE static std::uint64_t claim_of(std::uint32_t row, index_t col) {
    const std::uint64_t pair = std::uint64_t{row} << 32 | static_cast<std::uint32_t>(col);
    return (mix64(pair) | std::uint64_t{1} << 63) >> 32 << 32 | row;
  }
  GSOFA_DEVICE static bool is_settled(std::uint64_t word) { return word >> 63 == 0; }
};

struct claim_op {
  static constexpr offset_t longest = long_row;
  forest_view f;
  std::uint32_t level;

  GSOFA_DEVICE offset_t length(index_t k) const {
    const std::uint32_t row = f.list[level % 2][k];
    return f.end[f.root[row]] == none ? f.m.degree(row) : -1;
  }
  template <class Team>
  GSOFA_DEVICE void row(Team& team, index_t k, offset_t length) {
    if (length < 0) return;
    const assignment& m = f.m;
    const std::uint32_t row = f.list[level % 2][k];
    const std::int64_t dual = m.u[row];
    const offset_t begin = m.row_ptr[row];
    for (offset_t e = begin + team.rank(); e < begin + length; e += team.size()) {
      if (!m.is_tight(dual, e)) continue;
      const index_t col = m.col_idx[e];
      if (forest_view::is_settled(simt::load_shared_state(f.claim + col))) continue;
      const std::uint64_t before = simt::atomic_min(f.claim + col, forest_view::claim_of(row, col));
      if (before != ~std::uint64_t{0}) continue;
      f.columns[simt::atomic_add(f.control->columns + level % 3, std::uint32_t{1})] =
          static_cast<std::uint32_t>(col);
    }
  }
};

/// The columns claimed in a level go to their rows' trees, the rows matched to them to the next
/// level.
GSOFA_DEVICE void settle_columns(const forest_view& f, std::uint32_t level) {
  const offset_t columns = simt::load_shared_state(f.control->columns + level % 3);
  for (const offset_t k : grid_items(columns)) {
    const std::uint32_t col = f.columns[k];
    const auto from = static_cast<std::uint32_t>(f.claim[col]);
    f.claim[col] = from;
    const std::uint32_t root = f.root[from];
    const std::uint32_t row = f.m.row_of_col[col];
    if (row != none) {
      f.append(row, root, level + 1);
    } else {
      simt::atomic_min(f.end + root, col);
    }
  }
}

/// Matches the rows and columns of the path to the end of each tree the other way.
GSOFA_DEVICE void augment_paths(const forest_view& f) {
  for (const offset_t k : grid_items(f.m.n)) {
    if (f.root[k] != static_cast<std::uint32_t>(k) || f.end[k] == none) continue;
    for (std::uint32_t col = f.end[k]; col != none;) {
      const auto row = static_cast<std::uint32_t>(f.claim[col]);
      const std::uint32_t before = f.m.col_of_row[row];
      f.m.match(row, col);
      col = before;
    }
    simt::atomic_add(&f.control->augmented, std::uint32_t{1});
  }
}

/// Grows the forest and augments, by one grid that is resident at once.
[[maybe_unused]] GSOFA_KERNEL void augment_kernel(forest_view f) {
  auto* const shared = simt::shared_memory<row_memory>();
  const bool first = simt::block_index() == 0 && simt::thread_index() == 0;
  for (const offset_t k : grid_items(f.m.n)) {
    const auto row = static_cast<std::uint32_t>(k);
    if (f.m.col_of_row[k] == none) f.append(row, row, 0);
  }
  simt::sync_grid();
  for (std::uint32_t level = 0;; ++level) {
    const std::uint32_t rows = simt::load_shared_state(f.control->rows + level % 3);
    if (rows == 0) break;
    if (first) f.control->columns[(level + 2) % 3] = 0;
    claim_op op{f, level};
    share_rows(op, rows, shared);
    simt::sync_grid();
    if (first) f.control->rows[level % 3] = 0;
    settle_columns(f, level);
    simt::sync_grid();
  }
  augment_paths(f);
}

}  // namespace gsofa::gpu::matchings

#endif
