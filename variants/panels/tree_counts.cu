// Row counts of L and U, and T3 supernodes, of a symmetric pattern from its elimination tree alone,
// without panels, position lists or masks.
//
// Source: Gilbert, Ng & Peyton 1994 (skeleton entries, level differences); Liu 1990. README.md,
// "Counts of a symmetric pattern", has the terms.
//
// Let A be symmetric, T its elimination tree, and the numbering a postorder of T. Row u of L is the
// row subtree of u: all vertices on the paths from the neighbours j_1 < ... < j_m < u of u up to,
// but excluding, u. The path from j_k adds the vertices from j_k up to, but excluding, t_k to the
// paths from j_1, ..., j_{k-1}: t_1 = u, and t_k is the least common ancestor of j_{k-1} and j_k
// (in a postorder no path from another j < j_k meets the path from j_k further below). So
//  * row u of L has the sum of level(j_k) - level(t_k) entries;
//  * column v of L has one entry for each u with v in the row subtree of u. The sum over the
//    subtree of v, of (the number of j_k there) - (the number of t_k there), is this count.
// In a postorder t_k is the greatest parent among j_{k-1} .. j_k - 1: all of these vertices are
// below t_k, and one of them is the child of t_k above j_{k-1}. Maxima of groups of 32 vertices
// from either end, of groups of groups, and so on give t_k with two reads per level.
//
// T3 supernodes: row s joins the supernode of rows r .. s - 1 iff the count of row s of U is one
// less than the count of row s - 1, and s is the parent of s - 1. Proof: columns r .. s - 1 have
// the same rows below s - 1, since the counts decrease by one along a path of parents. So L(s, r)
// is an entry iff L(s, s - 1) is. If s is in column s - 1, it is the first row there, hence the
// parent.
//
// The same pass checks the assumptions. Rows ascend strictly, every entry below the diagonal has
// its partner above, and the numbers of entries above and below are equal: hence A is symmetric.
// The forest of nearest parents (README.md) is the elimination tree iff every vertex has a
// neighbour below each of its children. Neighbours j_{k-1}, j_k of u are below different children
// iff t_k = u. So it is the elimination tree iff the number of k with t_k = u, over all u, equals
// the number of vertices with a parent. If one of these checks fails, the counts are void.
//
// Encoding: arrays of n 32-bit words: least neighbours, then first vertices of subtrees; parents;
// maxima up to and from each vertex in its group; levels; the differences whose sums over subtrees
// are the counts of columns, then their prefix sums modulo 2^32 (every count is less than 2^32).
//
// Cost: O(nnz log(longest row)) for the partners, O(n) for the other steps, two atomic operations
// for an entry that is a leaf of a row subtree; about ten launches, whose sizes do not depend on
// the data. Memory: 25 bytes a vertex.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include "variants/device/matrix_entries.hpp"
#include "variants/device/tile_scan.hpp"
#include "variants/panels/stages_device.hpp"
#include "variants/panels/tree_counts.hpp"

namespace gsofa::panels {

/// What the kernels find out.
struct symmetry_totals {
  unsigned long long balance;  ///< entries above the diagonal less those below
  std::uint32_t broken;        ///< nonzero: the first entry of a row has no partner
  std::uint32_t faults;        ///< nonzero: nor has another one, or a row does not ascend
  std::uint32_t joined;        ///< neighbours below another child than the one before
  std::uint32_t roots;
};

namespace {

constexpr index_t group = 32;
constexpr std::uint32_t no_vertex = 0xffffffffU;  // as in find_nearest()

/// Values by level: level 0 has the parents, level k + 1 the maxima of groups of level k.
struct parent_maxima {
  static constexpr int most_levels = 7;  // 32^6 < 2^31 <= 32^7
  const std::uint32_t* values[most_levels];
  const std::uint32_t* upto[most_levels];  ///< maxima from the beginning of the group
  const std::uint32_t* from[most_levels];  ///< maxima to its end
  index_t size[most_levels];
  int levels;

  /// The maximum of the values first .. last.
  [[nodiscard]] GSOFA_DEVICE std::uint32_t greatest(index_t first, index_t last) const {
    std::uint32_t most = 0;
    for (int k = 0; first <= last; ++k, first = first / group + 1, last = last / group - 1) {
      if (first / group == last / group) {
        for (; first <= last; ++first) most = greater(most, values[k][first]);
        break;
      }
      most = greater(most, greater(from[k][first], upto[k][last]));
    }
    return most;
  }
  /// The first vertex of the subtree of v: it is behind the last one before v whose parent is
  /// beyond v.
  [[nodiscard]] GSOFA_DEVICE index_t first_of_subtree(index_t v) const {
    const auto bound = static_cast<std::uint32_t>(v);
    index_t end = v;
    int k = 0;
    index_t found = -1;
    for (;; ++k, end /= group) {
      const index_t begin = k + 1 < levels ? end / group * group : 0;
      found = last_beyond(k, begin, end, bound);
      if (found >= 0) break;
      if (begin == 0) return 0;
    }
    while (k > 0) {
      --k;
      const index_t begin = found * group;
      found = last_beyond(k, begin, begin + group < size[k] ? begin + group : size[k], bound);
    }
    return found + 1;
  }

 private:
  static GSOFA_DEVICE std::uint32_t greater(std::uint32_t a, std::uint32_t b) {
    return a < b ? b : a;
  }
  [[nodiscard]] GSOFA_DEVICE index_t last_beyond(int k, index_t begin, index_t end,
                                                 std::uint32_t bound) const {
    index_t at = end - 1;
    while (at >= begin && values[k][at] <= bound) --at;
    return at >= begin ? at : -1;
  }
};

/// Whether row `row` has an entry in `column`; rows ascend.
GSOFA_DEVICE bool has_entry(const matrix_view& a, index_t row, index_t column) {
  offset_t low = a.row_ptr[row];
  const offset_t end = a.row_ptr[row + 1];
  for (offset_t high = end; low < high;) {
    const offset_t middle = low + (high - low) / 2;
    if (a.col_idx[middle] < column) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < end && a.col_idx[low] == column;
}

/// Sets the least neighbours, no_vertex where none is less than the vertex. Most patterns that are
/// not symmetric are found out here, so that the kernels behind have nothing to do; `broken` tells
/// the host, which then launches no more of them.
GSOFA_KERNEL void least_neighbours_kernel(matrix_view a, std::uint32_t* least,
                                          symmetry_totals* totals, std::uint32_t* broken) {
  simt::after_earlier_launches();
  for (const offset_t k : grid_items(a.n)) {
    const auto v = static_cast<index_t>(k);
    const offset_t first = a.row_ptr[k];
    const index_t j = first < a.row_ptr[k + 1] ? a.col_idx[first] : v;
    least[k] = j < v ? static_cast<std::uint32_t>(j) : no_vertex;
    if (j < v && !has_entry(a, j, v) &&
        simt::atomic_exchange(&totals->broken, std::uint32_t{1}) == 0) {
      simt::store_to_host(broken, 1);
    }
  }
}

/// The maxima of each group from either end, and all of it. A warp takes a group.
GSOFA_KERNEL void group_maxima_kernel(const std::uint32_t* values, index_t size,
                                      std::uint32_t* upto, std::uint32_t* from,
                                      std::uint32_t* whole, const symmetry_totals* totals) {
  simt::after_earlier_launches();
  if (totals->broken != 0) return;
  const auto lane = static_cast<index_t>(lane_index());
  const auto warps = static_cast<index_t>(simt::grid_size() * (simt::block_size() / 32));
  for (auto g = static_cast<index_t>(simt::block_index() * (simt::block_size() / 32) +
                                     simt::thread_index() / 32);
       g <= (size - 1) / group; g += warps) {
    const index_t at = g * group + lane;
    std::uint32_t before = at < size ? values[at] : 0;
    std::uint32_t behind = before;
    for (index_t step = 1; step < group; step *= 2) {
      const std::uint32_t low = simt::shuffle_up(before, static_cast<unsigned>(step));
      const std::uint32_t high = simt::shuffle_down(behind, static_cast<unsigned>(step));
      if (lane >= step && low > before) before = low;
      if (lane + step < group && high > behind) behind = high;
    }
    if (at < size) {
      upto[at] = before;
      from[at] = behind;
    }
    if (lane == 0) whole[g] = behind;
  }
}

/// Sets the first vertices of subtrees, and counts the subtrees that begin at each vertex.
GSOFA_KERNEL void first_vertices_kernel(parent_maxima tree, std::uint32_t* first,
                                        std::uint32_t* begun, symmetry_totals* totals) {
  simt::after_earlier_launches();
  if (totals->broken != 0) return;
  const index_t n = tree.size[0];
  std::uint32_t roots = 0;
  for (const offset_t k : grid_items(n)) {
    const auto found = static_cast<std::uint32_t>(tree.first_of_subtree(static_cast<index_t>(k)));
    first[k] = found;
    simt::atomic_add(begun + found, std::uint32_t{1});
    roots += tree.values[0][k] == no_vertex ? 1 : 0;
  }
  roots = simt::add_of_warp(roots);
  if (lane_index() == 0 && roots != 0) simt::atomic_add(&totals->roots, roots);
}

/// Sums from vertex 0 on, modulo 2^32, in place; of each the Kept part stays.
template <class Kept>
struct vertex_scan {
  using value = std::uint32_t;
  index_t n;
  std::uint32_t* values;
  const symmetry_totals* totals;

  [[nodiscard]] GSOFA_DEVICE offset_t count() const { return totals->broken != 0 ? 0 : n; }
  GSOFA_DEVICE static value identity() { return 0; }
  [[nodiscard]] GSOFA_DEVICE value combine(value a, value b) const { return a + b; }
  [[nodiscard]] GSOFA_DEVICE value item(index_t v) const { return values[v]; }
  GSOFA_DEVICE void emit(index_t v, value upto) const { values[v] = Kept{}(v, upto); }
};

/// The number of ancestors of each vertex v: the number of subtrees whose first vertex is at most
/// v, less v + 1. The subtrees of all vertices before v end before v.
struct levels_of {
  GSOFA_DEVICE std::uint32_t operator()(index_t v, std::uint32_t upto) const {
    return upto - static_cast<std::uint32_t>(v) - 1;
  }
};

struct all_of_sum {
  GSOFA_DEVICE std::uint32_t operator()(index_t, std::uint32_t upto) const { return upto; }
};

/// The sum over each run of equal rows in the first lane of the run, and 0 in the others.
GSOFA_DEVICE std::uint64_t sum_of_run(index_t row, std::uint64_t mine) {
  const unsigned lane = lane_index();
  const index_t before = simt::shuffle_up(row, 1);
  for (unsigned step = 1; step < 32; step *= 2) {
    const index_t other_row = simt::shuffle_down(row, step);
    const std::uint64_t other = simt::shuffle_down(mine, step);
    if (lane + step < 32 && other_row == row) mine += other;
  }
  return lane == 0 || before != row ? mine : 0;
}

/// What the entries of A add up to.
struct entry_sums {
  parent_maxima tree;
  const std::uint32_t* levels;
  std::uint32_t* differences;
  std::uint32_t* l_counts;
  symmetry_totals* totals;

  /// Entry (i, j), j < i, behind an entry of column `before` in its row, -1: none. Returns what it
  /// adds to row i, and, above 32 bits, 1 if t_k is i.
  GSOFA_DEVICE std::uint64_t add(index_t i, index_t j, index_t before) const {
    const auto row = static_cast<std::uint32_t>(i);
    const std::uint32_t top = before < 0 ? row : tree.greatest(before, j - 1);
    // All neighbours j < i are below i where A is symmetric.
    if (top > row) {
      simt::atomic_exchange(&totals->faults, std::uint32_t{1});
      return 0;
    }
    if (top == static_cast<std::uint32_t>(j)) return 0;
    simt::atomic_add(differences + j, std::uint32_t{1});
    if (top != row) simt::atomic_add(differences + top, ~std::uint32_t{0});
    return std::uint64_t{top == row ? 1U : 0U} << 32 | (levels[j] - levels[top]);
  }
};

/// A lane takes an entry.
GSOFA_KERNEL void count_entries_kernel(matrix_view a, entry_sums sums) {
  simt::after_earlier_launches();
  if (sums.totals->broken != 0) return;
  std::uint32_t joined = 0;
  unsigned long long balance = 0;
  const auto visit = [&](bool is_entry, offset_t e, index_t i, index_t j) {
    const index_t row_before = simt::shuffle_up(i, 1);
    index_t before = simt::shuffle_up(j, 1);
    if (lane_index() == 0) {
      before = is_entry && e > a.row_ptr[i] ? a.col_idx[e - 1] : -1;
    } else if (row_before != i) {
      before = -1;
    }
    std::uint64_t mine = 0;
    if (is_entry && j < i) {
      const bool ascends = before < j;
      if (!ascends || !has_entry(a, j, i)) {
        simt::atomic_exchange(&sums.totals->faults, std::uint32_t{1});
      } else {
        mine = sums.add(i, j, before);
      }
      --balance;
    } else if (is_entry) {
      if (before >= j) simt::atomic_exchange(&sums.totals->faults, std::uint32_t{1});
      balance += j > i ? 1 : 0;
    }
    mine = sum_of_run(i, mine);
    const auto tops = static_cast<std::uint32_t>(mine >> 32);
    const auto entries = static_cast<std::uint32_t>(mine);
    if (entries != 0) simt::atomic_add(sums.l_counts + i, entries);
    if (tops != 0) simt::atomic_add(sums.differences + i, ~tops + 1);
    joined += tops;
  };
  for_each_place(a, visit, [] {});
  joined = simt::add_of_warp(joined);
  for (unsigned step = 16; step > 0; step /= 2) balance += simt::shuffle_xor(balance, step);
  if (lane_index() != 0) return;
  if (joined != 0) simt::atomic_add(&sums.totals->joined, joined);
  if (balance != 0) simt::atomic_add(&sums.totals->balance, balance);
}

/// Counts the columns of L with the diagonal, which are the rows of U, marks the first rows of
/// supernodes, and tells the host whether all was as taken for granted.
GSOFA_KERNEL void column_counts_kernel(index_t n, const std::uint32_t* first,
                                       const std::uint32_t* parent, const std::uint32_t* sums,
                                       std::uint32_t* u_counts, supernode_marks supernodes,
                                       const symmetry_totals* totals, std::uint32_t* note) {
  simt::after_earlier_launches();
  const bool exact = totals->broken == 0 && totals->faults == 0 && totals->balance == 0 &&
                     totals->joined + totals->roots == static_cast<std::uint32_t>(n);
  const auto count = [&](offset_t v) {
    return sums[v] - (first[v] == 0 ? 0 : sums[first[v] - 1]) + 1;
  };
  for (const offset_t k : grid_items(exact ? n : 0)) {
    const std::uint32_t mine = count(k);
    u_counts[k] = mine;
    if (supernodes.is_start == nullptr) continue;
    const bool begins_chunk = k == 0 || (supernodes.chunk != 0 && k % supernodes.chunk == 0);
    const bool joins =
        !begins_chunk && parent[k - 1] == static_cast<std::uint32_t>(k) && mine + 1 == count(k - 1);
    if (!joins) supernodes.is_start[k] = 1;
  }
  if (simt::block_index() == 0 && simt::thread_index() == 0) {
    simt::store_to_host(note, exact ? 1 : 0);
  }
}

}  // namespace

bool symmetric_counts::prepare(index_t n, memory_budget& budget) {
  release();
  constexpr offset_t header = (sizeof(symmetry_totals) + 15) / 16 * 4;
  try {
    zeroed_ = {budget, "tree_counts", header + 2 * offset_t{n}};
    first_ = {budget, "tree_counts", n};
    parent_ = {budget, "tree_counts", n};
    maxima_ = {budget, "tree_counts", 2 * offset_t{n} + offset_t{n} / 8 + 64};
    minima_ = {budget, "tree_counts", offset_t{n} / 31 + 7};
    partial_ = {budget, "tree_counts", threads_per_block};
  } catch (const budget_error&) {
    release();
    return false;
  }
  header_ = header;
  note_.assign(notes, 0);
  return true;
}

void symmetric_counts::release() {
  zeroed_ = {};
  first_ = {};
  parent_ = {};
  maxima_ = {};
  minima_ = {};
  partial_ = {};
}

void symmetric_counts::run(const device_rows& rows, row_counts counts, supernode_marks supernodes) {
  const index_t n = rows.n;
  const matrix_view a = entries_of(rows.row_ptr, rows.col_idx, n, rows.nnz);
  auto* const totals = reinterpret_cast<symmetry_totals*>(zeroed_.data());
  std::uint32_t* const levels = zeroed_.data() + header_;
  std::uint32_t* const differences = levels + n;
  note_[is_exact] = note_[is_broken] = 0;
  fill_bytes(zeroed_.data(), 0, zeroed_.size());
  launch_overlapping(least_neighbours_kernel, blocks_for(n), threads_per_block, 0, a, first_.data(),
                     totals, &note_[is_broken]);
  find_nearest(first_.data(), n, minima_.data(), parent_.data());
  parent_maxima tree{{parent_.data()}, {}, {}, {n}, 1};
  for (std::uint32_t* spare = maxima_.data(); tree.size[tree.levels - 1] > group; ++tree.levels) {
    const int k = tree.levels - 1;
    const index_t size = tree.size[k];
    const index_t groups = (size - 1) / group + 1;
    std::uint32_t* const upto = spare;
    std::uint32_t* const from = upto + size;
    std::uint32_t* const whole = from + size;
    spare = whole + groups;
    if (broken()) return;
    launch_overlapping(group_maxima_kernel, blocks_for(size), threads_per_block, 0, tree.values[k],
                       size, upto, from, whole, static_cast<const symmetry_totals*>(totals));
    tree.upto[k] = upto;
    tree.from[k] = from;
    tree.values[k + 1] = whole;
    tree.size[k + 1] = groups;
  }
  if (broken()) return;
  launch_overlapping(first_vertices_kernel, blocks_for(n), threads_per_block, 0, tree,
                     first_.data(), levels, totals);
  scan(vertex_scan<levels_of>{n, levels, totals}, n, partial_.data());
  if (broken()) return;
  launch_on_entries(count_entries_kernel, a,
                    entry_sums{tree, levels, differences, counts.l, totals});
  scan(vertex_scan<all_of_sum>{n, differences, totals}, n, partial_.data());
  launch_overlapping(column_counts_kernel, blocks_for(n), threads_per_block, 0, n,
                     static_cast<const std::uint32_t*>(first_.data()),
                     static_cast<const std::uint32_t*>(parent_.data()),
                     static_cast<const std::uint32_t*>(differences), counts.u, supernodes,
                     static_cast<const symmetry_totals*>(totals), &note_[is_exact]);
}

}  // namespace gsofa::panels

#endif
