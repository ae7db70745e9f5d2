// Maximum matching of rows and columns on the device. If several rows compete for a column, the
// least row gets it, independently of their timing: the matching does not depend on the number of
// blocks.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include "common/random.hpp"
#include "variants/analysis/gpu_analysis.hpp"
#include "variants/device/matrix_entries.hpp"
#include "variants/device/row_teams.hpp"

namespace gsofa::gpu::analysis {

namespace {

// On the emulator small patterns must leave much to the search.
#if defined(__CUDACC__)
constexpr int most_greedy_rounds = 32;
#else
constexpr int most_greedy_rounds = 1;
#endif

/// The matching, and the state of a greedy round or of a search, n words each.
struct matching_view {
  rows_view a;
  std::uint32_t* col_of_row;  ///< `none` where unmatched
  std::uint32_t* row_of_col;

  GSOFA_DEVICE offset_t degree(index_t row) const {
    return a.row_ptr[row + offset_t{1}] - a.row_ptr[row];
  }
  GSOFA_DEVICE bool row_is_free(offset_t row) const { return col_of_row[row] == none; }
  GSOFA_DEVICE bool col_is_free(index_t col) const { return row_of_col[col] == none; }
  GSOFA_DEVICE void match(std::uint32_t row, std::uint32_t col) const {
    col_of_row[row] = col;
    row_of_col[col] = row;
  }
};

/// Matches row and column i where entry (i, i) is there.
GSOFA_KERNEL void match_diagonal_kernel(matrix_view a, matching_view m, std::uint32_t* matched) {
  simt::after_earlier_launches();
  for_each_entry(a, [&](index_t i, index_t j) {
    if (i != j) return;
    const auto v = static_cast<std::uint32_t>(i);
    // The entry may be repeated: one of its threads counts.
    if (simt::atomic_exchange(m.col_of_row + i, v) != none) return;
    m.row_of_col[i] = v;
    simt::atomic_add(matched, std::uint32_t{1});
  });
}

// ------------------------------------------------------------------------------- greedy rounds

/// One round: every free row proposes to a free column of least degree, and every column takes, of
/// the rows of least degree among those, the least one. Degrees are numbers of entries in free rows
/// and columns. A row or column of degree 1 is matched without loss (Karp & Sipser 1981).
struct greedy_view {
  matching_view m;
  std::uint32_t* col_degree;  ///< 0 before
  std::uint32_t* row_degree;
  std::uint32_t* choice;       ///< of rows of positive degree
  std::uint32_t* best_degree;  ///< of the rows that chose a column; `none` before
  std::uint32_t* winner;       ///< the least row of degree best_degree; `none` before

  GSOFA_DEVICE bool proposes(offset_t row) const {
    return m.row_is_free(row) && row_degree[row] != 0;
  }
};

struct degrees_op {
  static constexpr offset_t longest = long_row;
  greedy_view g;

  GSOFA_DEVICE offset_t length(index_t row) const {
    return g.m.row_is_free(row) ? g.m.degree(row) : -1;
  }
  template <class Team>
  GSOFA_DEVICE void row(Team& team, index_t row, offset_t length) {
    std::uint32_t count = 0;
    if (length > 0) {
      const index_t* const columns = g.m.a.col_idx + g.m.a.row_ptr[row];
      for (offset_t e = team.rank(); e < length; e += team.size()) {
        if (!g.m.col_is_free(columns[e])) continue;
        ++count;
        simt::atomic_add(g.col_degree + columns[e], std::uint32_t{1});
      }
    }
    count = team.reduce(count, [](std::uint32_t x, std::uint32_t y) {
      // Repeated entries could make the sum 2^32.
      return x > ~y ? none : x + y;
    });
    if (team.rank() == 0 && length >= 0) g.row_degree[row] = count;
  }
  GSOFA_DEVICE void finish() const {}
};

/// A column; the rank is higher for a lower degree, then by a hash: rows with the same columns
/// choose different ones.
struct candidate {
  std::uint64_t rank;
  index_t u;

  GSOFA_DEVICE bool below(const candidate& o) const {
    return rank != o.rank ? rank < o.rank : u < o.u;
  }
};

struct choose_op {
  static constexpr offset_t longest = long_row;
  greedy_view g;

  GSOFA_DEVICE offset_t length(index_t row) const { return g.proposes(row) ? g.m.degree(row) : -1; }
  template <class Team>
  GSOFA_DEVICE void row(Team& team, index_t row, offset_t length) {
    candidate mine{0, -1};
    if (length > 0) {
      const index_t* const columns = g.m.a.col_idx + g.m.a.row_ptr[row];
      for (offset_t e = team.rank(); e < length; e += team.size()) {
        const index_t col = columns[e];
        if (!g.m.col_is_free(col)) continue;
        const std::uint64_t hash =
            mix64(static_cast<std::uint64_t>(row) << 32 | static_cast<std::uint64_t>(col)) >> 32;
        const std::uint64_t degree = g.col_degree[col];
        const candidate other{~(degree << 32 | hash), col};
        if (mine.below(other)) mine = other;
      }
    }
    // A row of positive degree has a column: one above those of threads without any.
    mine = team.best(mine);
    if (team.rank() != 0 || length <= 0) return;
    g.choice[row] = static_cast<std::uint32_t>(mine.u);
    simt::atomic_min(g.best_degree + mine.u, g.row_degree[row]);
  }
  GSOFA_DEVICE void finish() const {}
};

GSOFA_KERNEL void compete_kernel(greedy_view g) {
  simt::after_earlier_launches();
  for (const offset_t k : grid_items(g.m.a.n)) {
    if (!g.proposes(k) || g.row_degree[k] != g.best_degree[g.choice[k]]) continue;
    simt::atomic_min(g.winner + g.choice[k], static_cast<std::uint32_t>(k));
  }
}

GSOFA_KERNEL void match_winners_kernel(greedy_view g, std::uint32_t* matched) {
  simt::after_earlier_launches();
  for (const offset_t k : grid_items(g.m.a.n)) {
    const auto row = static_cast<std::uint32_t>(k);
    if (!g.proposes(k) || g.winner[g.choice[k]] != row) continue;
    g.m.match(row, g.choice[k]);
    simt::atomic_add(matched, std::uint32_t{1});
  }
}

// -------------------------------------------------------------------------------------- search

/// A forest of alternating paths, a tree for each free row, grown level by level: rows of the
/// frontier reach columns along entries, columns reach their rows along the matching. Every column
/// is in one tree, hence every row: paths of different trees are disjoint. A tree that has reached
/// a free column, its end, grows no more. Where no tree has, the rows of the trees have entries in
/// no other columns than those matched to them, and the matching is a maximum (Berge 1957).
struct search_view {
  matching_view m;
  std::uint32_t* root;      ///< of a row; `none`: in no tree
  std::uint32_t* end;       ///< of the tree of a root: the least free column; `none`: none yet
  std::uint32_t* from;      ///< the least row of the level that reached a column; `none`: none
  std::uint32_t* reached;   ///< 1: the column was reached in an earlier level
  std::uint32_t* frontier;  ///< rows
  std::uint32_t* next;      ///< rows of the next frontier
  std::uint32_t* columns;   ///< reached in this level
  std::uint32_t* count;     ///< [0]: rows in next, [1]: columns in `columns`, [2]: augmented
};

GSOFA_KERNEL void roots_kernel(search_view s) {
  simt::after_earlier_launches();
  for (const offset_t k : grid_items(s.m.a.n)) {
    if (!s.m.row_is_free(k)) continue;
    s.root[k] = static_cast<std::uint32_t>(k);
    s.next[simt::atomic_add(s.count, std::uint32_t{1})] = static_cast<std::uint32_t>(k);
  }
}

struct reach_op {
  static constexpr offset_t longest = long_row;
  search_view s;

  GSOFA_DEVICE offset_t length(index_t k) const {
    const std::uint32_t row = s.frontier[k];
    return s.end[s.root[row]] == none ? s.m.degree(static_cast<index_t>(row)) : -1;
  }
  template <class Team>
  GSOFA_DEVICE void row(Team& team, index_t k, offset_t length) {
    if (length <= 0) return;
    const std::uint32_t row = s.frontier[k];
    const index_t* const columns = s.m.a.col_idx + s.m.a.row_ptr[row];
    for (offset_t e = team.rank(); e < length; e += team.size()) {
      const index_t col = columns[e];
      if (s.reached[col] != 0 || simt::load_shared_state(s.from + col) <= row) continue;
      if (simt::atomic_min(s.from + col, row) == none) {
        s.columns[simt::atomic_add(s.count + 1, std::uint32_t{1})] =
            static_cast<std::uint32_t>(col);
      }
    }
  }
  GSOFA_DEVICE void finish() const {}
};

GSOFA_KERNEL void grow_kernel(search_view s) {
  simt::after_earlier_launches();
  const offset_t columns = s.count[1];
  for (const offset_t k : grid_items(columns)) {
    const std::uint32_t col = s.columns[k];
    s.reached[col] = 1;
    const std::uint32_t root = s.root[s.from[col]];
    const std::uint32_t row = s.m.row_of_col[col];
    if (row == none) {
      simt::atomic_min(s.end + root, col);
    } else {
      s.root[row] = root;
      s.next[simt::atomic_add(s.count, std::uint32_t{1})] = row;
    }
  }
}

/// Matches the rows and columns of the path to the end of each tree the other way.
GSOFA_KERNEL void augment_kernel(search_view s) {
  simt::after_earlier_launches();
  for (const offset_t k : grid_items(s.m.a.n)) {
    if (s.root[k] != static_cast<std::uint32_t>(k) || s.end[k] == none) continue;
    for (std::uint32_t col = s.end[k]; col != none;) {
      const std::uint32_t row = s.from[col];
      const std::uint32_t before = s.m.col_of_row[row];
      s.m.match(row, col);
      col = before;
    }
    simt::atomic_add(s.count + 2, std::uint32_t{1});
  }
}

class matcher {
 public:
  matcher(const rows_view& a, memory_budget& budget)
      : a_(a), row_of_col_(budget, "matching", a.n), count_(budget, "control", 3) {
    for (auto* words : {&col_of_row_, &words_[0], &words_[1], &words_[2], &words_[3], &words_[4],
                        &words_[5], &words_[6]}) {
      *words = {budget, "matching", a.n};
    }
    fill_bytes(col_of_row_.data(), 0xff, a.n);
    fill_bytes(row_of_col_.data(), 0xff, a.n);
  }

  matching run() {
    std::uint32_t rank = diagonal();
    const auto n = static_cast<std::uint32_t>(a_.n);
    for (int round = 0; round < most_greedy_rounds && rank < n; ++round) {
      const std::uint32_t found = greedy_round();
      if (found == 0) break;
      rank += found;
    }
    matching out;
    while (rank < n) {
      const std::uint32_t found = search();
      rank += found;
      if (found != 0) continue;
      std::vector<std::uint32_t> root(n);
      copy_to_host(root.data(), words_[0].data(), a_.n);
      for (index_t i = 0; i < a_.n; ++i) {
        if (root[at(i)] != none) out.deficient_rows.push_back(i);
      }
      break;
    }
    out.structural_rank = static_cast<index_t>(rank);
    out.row_of_col = std::move(row_of_col_);
    return out;
  }

 private:
  [[nodiscard]] matching_view view() const {
    // `none` is -1 in as many bits.
    return {a_, col_of_row_.data(), reinterpret_cast<std::uint32_t*>(row_of_col_.data())};
  }
  [[nodiscard]] std::uint32_t counted(int which) const {
    std::uint32_t value = 0;
    copy_to_host(&value, count_.data() + which, 1);
    return value;
  }

  std::uint32_t diagonal() {
    fill_bytes(count_.data(), 0, 3);
    if (a_.nnz > 0) {
      launch_on_entries(match_diagonal_kernel, entries_of(a_.row_ptr, a_.col_idx, a_.n, a_.nnz),
                        view(), count_.data());
    }
    return counted(0);
  }

  std::uint32_t greedy_round() {
    const greedy_view g{view(),           words_[0].data(), words_[1].data(),
                        words_[2].data(), words_[3].data(), words_[4].data()};
    fill_bytes(count_.data(), 0, 3);
    fill_bytes(g.col_degree, 0, a_.n);
    fill_bytes(g.best_degree, 0xff, a_.n);
    fill_bytes(g.winner, 0xff, a_.n);
    launch_rows(degrees_op{g}, a_.n);
    launch_rows(choose_op{g}, a_.n);
    launch_overlapping(compete_kernel, blocks_for(a_.n), threads_per_block, 0, g);
    launch_overlapping(match_winners_kernel, blocks_for(a_.n), threads_per_block, 0, g,
                       count_.data());
    return counted(0);
  }

  /// Returns the number of augmenting paths.
  std::uint32_t search() {
    search_view s{view(),           words_[0].data(), words_[1].data(),
                  words_[2].data(), words_[3].data(), words_[4].data(),
                  words_[5].data(), words_[6].data(), count_.data()};
    fill_bytes(s.root, 0xff, a_.n);
    fill_bytes(s.end, 0xff, a_.n);
    fill_bytes(s.from, 0xff, a_.n);
    fill_bytes(s.reached, 0, a_.n);
    fill_bytes(s.count, 0, 3);
    launch_overlapping(roots_kernel, blocks_for(a_.n), threads_per_block, 0, s);
    for (std::uint32_t rows = counted(0); rows > 0; rows = counted(0)) {
      std::swap(s.frontier, s.next);
      fill_bytes(s.count, 0, 2);
      launch_rows(reach_op{s}, rows);
      launch_overlapping(grow_kernel, blocks_for(a_.n), threads_per_block, 0, s);
    }
    launch_overlapping(augment_kernel, blocks_for(a_.n), threads_per_block, 0, s);
    return counted(2);
  }

  rows_view a_;
  device_array<index_t> row_of_col_;
  device_array<std::uint32_t> col_of_row_;
  device_array<std::uint32_t> words_[7];
  device_array<std::uint32_t> count_;
};

}  // namespace

matching maximum_matching(const rows_view& a, memory_budget& budget) {
  return matcher(a, budget).run();
}

}  // namespace gsofa::gpu::analysis

#endif
