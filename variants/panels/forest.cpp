#include "variants/panels/forest.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "common/parallel.hpp"
#include "common/preprocess.hpp"

namespace gsofa::detail {

namespace {

constexpr index_t rows_at_a_time = 1024;
// Symmetry and tree by several threads are twice the work of one.
constexpr int threads_that_pay = 3;

}  // namespace

bool is_postordered(std::span<const index_t> parent) {
  // The open roots of the vertices so far. In a postorder the children of v are the last of them; a
  // child that is not among these stays open for ever.
  std::vector<index_t> open;
  open.reserve(parent.size());
  for (index_t v = 0; v < static_cast<index_t>(parent.size()); ++v) {
    while (!open.empty() && parent[at(open.back())] == v) open.pop_back();
    open.push_back(v);
  }
  return std::ranges::all_of(open, [&](index_t v) { return parent[at(v)] < 0; });
}

void ordered_graph::build(const pattern_view& a, int threads) {
  n = a.n_rows;
  rows_.ptr = a.row_ptr;
  rows_.idx = a.col_idx;
  order.clear();
  rows_.diagonal.resize(at(n));
  const bool several = threads >= threads_that_pay;
  symmetric_ = several ? find_symmetry(threads) : find_symmetry();
  if (!symmetric_) build_columns(threads);
  if (several ? build_postordered_tree(threads) : build_postordered_tree()) return;
  build_tree();
  if (!is_postordered(parent)) relabel(threads);
}

bool ordered_graph::find_symmetry() {
  // The loop also finds the diagonals of the rows that it gets to.
  // next_[j]: rows < i have matched the entries of row_above(j) before this one.
  next_.resize(at(n));
  for (index_t i = 0; i < n; ++i) {
    offset_t q = rows_.ptr[at(i)];
    for (; rows_.idx[at(q)] < i; ++q) {
      const index_t j = rows_.idx[at(q)];
      const offset_t p = next_[at(j)]++;
      if (p == rows_.ptr[at(j) + 1] || rows_.idx[at(p)] != i) return false;
    }
    rows_.diagonal[at(i)] = q;
    next_[at(i)] = q + 1;
  }
  for (index_t j = 0; j < n; ++j) {
    if (next_[at(j)] != rows_.ptr[at(j) + 1]) return false;
  }
  return true;
}

// Rows in ranges with about as many entries each, for so many threads that arrays of n numbers for
// each of them are no larger than A; one range where there would be one thread.
std::vector<index_t> ordered_graph::row_ranges(int threads) const {
  const offset_t nnz = rows_.ptr[at(n)];
  const int teams = static_cast<int>(std::clamp<offset_t>(nnz / n, 1, threads));
  std::vector<index_t> first(at(teams) + 1, n);
  for (int t = 0; t < teams; ++t) {
    const auto row = std::ranges::lower_bound(rows_.ptr, nnz / teams * t);
    first[at(t)] = static_cast<index_t>(row - rows_.ptr.begin());
  }
  return first;
}

// The pattern is symmetric if each entry below the diagonal has its mirror image, and there are as
// many above it.
bool ordered_graph::find_symmetry(int threads) {
  const std::vector<index_t> first = row_ranges(threads);
  const int teams = static_cast<int>(first.size()) - 1;
  if (teams < 2) return find_symmetry();
  counts_.resize(at(n) * at(teams));
  // relaxed: a hint while threads run; the verdict is read after they have joined.
  std::atomic<bool> differs{false};
  std::atomic<offset_t> below{0};
  on_threads(teams, [&](int t) {
    const offset_t found =
        mirrored(first[at(t)], first[at(t) + 1], counts_.data() + at(n) * at(t), differs);
    below.fetch_add(found, std::memory_order_relaxed);
  });
  return !differs.load() && 2 * below.load() + n == rows_.ptr[at(n)];
}

// Entries below the diagonal in the rows begin .. end - 1; `differs` becomes true where one has no
// mirror image, and ends the search of all threads. next[j] - 1: how many entries of row j have
// been passed; 0: the row has not been looked at.
offset_t ordered_graph::mirrored(index_t begin, index_t end, index_t* next,
                                 std::atomic<bool>& differs) {
  std::fill(next, next + n, 0);
  offset_t found = 0;
  for (index_t i = begin; i < end; ++i) {
    if (i % 64 == 0 && differs.load(std::memory_order_relaxed)) return found;
    offset_t q = rows_.ptr[at(i)];
    for (; rows_.idx[at(q)] < i; ++q) {
      const index_t j = rows_.idx[at(q)];
      const auto row = rows(j, j + 1);
      index_t& passed = next[j];
      if (passed == 0) {
        passed = 1 + static_cast<index_t>(std::ranges::lower_bound(row, i) - row.begin());
      }
      const std::size_t p = at(passed) - 1;
      if (p == row.size() || row[p] != i) {
        differs.store(true, std::memory_order_relaxed);
        return found;
      }
      ++passed;
      ++found;
    }
    rows_.diagonal[at(i)] = q;
  }
  return found;
}

// Each thread counts columns of its rows by itself.
void ordered_graph::build_columns(int threads) {
  const std::vector<index_t> first = row_ranges(threads);
  const int teams = static_cast<int>(first.size()) - 1;
  if (teams < 2) {
    build_columns_serial();
    return;
  }
  const auto width = at(n);
  counts_.resize(width * at(teams));
  const auto counts = [&](int t) { return counts_.data() + width * at(t); };
  on_threads(teams, [&](int t) { count_columns(first[at(t)], first[at(t) + 1], counts(t)); });
  col_ptr_.resize(width + 1);
  col_ptr_[0] = 0;
  // What threads before t have of a column stands before what t has of it.
  parallel_ranges<index_t>(teams, n, 4 * rows_at_a_time, [&](int, index_t begin, index_t end) {
    for (index_t j = begin; j < end; ++j) {
      index_t before = 0;
      for (int t = 0; t < teams; ++t) before += std::exchange(counts(t)[j], before);
      col_ptr_[at(j) + 1] = before;
    }
  });
  for (index_t j = 0; j < n; ++j) col_ptr_[at(j) + 1] += col_ptr_[at(j)];
  col_idx_.resize(rows_.idx.size());
  columns_.diagonal.resize(width);
  on_threads(teams, [&](int t) { fill_columns(first[at(t)], first[at(t) + 1], counts(t)); });
  columns_.ptr = col_ptr_;
  columns_.idx = col_idx_.view();
}

void ordered_graph::count_columns(index_t begin, index_t end, index_t* counts) {
  std::fill(counts, counts + n, 0);
  for (index_t i = begin; i < end; ++i) {
    offset_t before = rows_.ptr[at(i)];
    for (const index_t j : rows(i, i + 1)) {
      ++counts[j];
      before += j < i ? 1 : 0;
    }
    rows_.diagonal[at(i)] = before;
  }
}

void ordered_graph::fill_columns(index_t begin, index_t end, index_t* next) {
  for (index_t i = begin; i < end; ++i) {
    for (const index_t j : rows(i, i + 1)) {
      const offset_t place = col_ptr_[at(j)] + next[j]++;
      col_idx_[at(place)] = i;
      if (i == j) columns_.diagonal[at(j)] = place;
    }
  }
}

void ordered_graph::build_columns_serial() {
  const std::size_t nnz = rows_.idx.size();
  col_ptr_.assign(at(n) + 1, 0);
  for (const index_t j : rows_.idx) ++col_ptr_[at(j) + 1];
  for (index_t j = 0; j < n; ++j) col_ptr_[at(j) + 1] += col_ptr_[at(j)];
  next_.assign(col_ptr_.begin(), col_ptr_.end() - 1);
  col_idx_.resize(nnz);
  columns_.diagonal.resize(at(n));
  for (index_t i = 0; i < n; ++i) {
    columns_.diagonal[at(i)] = next_[at(i)];  // entries of rows < i are in
    offset_t before = rows_.ptr[at(i)];
    for (const index_t j : rows(i, i + 1)) {
      col_idx_[at(next_[at(j)]++)] = i;
      before += j < i ? 1 : 0;
    }
    rows_.diagonal[at(i)] = before;
  }
  columns_.ptr = col_ptr_;
  columns_.idx = col_idx_.view();
}

// Finds the nearest parents, P(v) = min{ u > v : f(u) <= v }, f(u) the least neighbour of u in
// A + A^T (README.md, "Nearest parents"). P is the elimination tree, and the numbering a postorder
// of it, if every v has an edge from P(v) into its subtree. The child of u above f(u) has one; the
// others are looked at. Returns false if P is not the elimination tree, or the numbering no
// postorder of it.
bool ordered_graph::build_postordered_tree() {
  parent.assign(at(n), -1);
  // Vertices without a parent so far, ascending; children of u are the last of them.
  std::vector<index_t>& open = work_;
  open.resize(at(n));
  index_t count = 0;
  for (index_t u = 0; u < n; ++u) {
    const auto row = row_below(u);
    const auto column = symmetric_ ? std::span<const index_t>() : column_below(u);
    index_t least = u;
    if (!row.empty()) least = row.front();
    if (!column.empty()) least = std::min(least, column.front());
    const index_t end = count;
    while (count > 0 && open[at(count) - 1] >= least) parent[at(open[at(--count)])] = u;
    if (end - count > 1) {
      const std::span<const index_t> children(open.data() + count, at(end - count));
      justified_.assign(children.size(), 0);
      for (const auto neighbours : {row, column}) {
        std::size_t k = 0;
        for (const index_t i : neighbours) {
          while (children[k] < i) ++k;
          justified_[k] = 1;
        }
      }
      if (std::ranges::find(justified_, 0) != justified_.end()) return false;
    }
    open[at(count++)] = u;
  }
  return true;
}

// The same by several threads: one finds the nearest parents, whose subtrees are ranges, and all
// look at the children.
bool ordered_graph::build_postordered_tree(int threads) {
  parent.assign(at(n), -1);
  subtree_begin_.resize(at(n));
  std::vector<index_t>& least = subtree_begin_;  // of u until u has been visited
  parallel_ranges<index_t>(threads, n, rows_at_a_time, [&](int, index_t begin, index_t end) {
    for (index_t u = begin; u < end; ++u) {
      index_t first = std::min(u, rows_.idx[at(rows_.ptr[at(u)])]);
      if (!symmetric_) first = std::min(first, columns_.idx[at(columns_.ptr[at(u)])]);
      least[at(u)] = first;
    }
  });
  std::vector<index_t>& open = work_;
  open.resize(at(n));
  index_t count = 0;
  for (index_t u = 0; u < n; ++u) {
    const index_t reached = least[at(u)];
    subtree_begin_[at(u)] = u;
    while (count > 0 && open[at(count) - 1] >= reached) {
      const index_t child = open[at(--count)];
      parent[at(child)] = u;
      subtree_begin_[at(u)] = subtree_begin_[at(child)];
    }
    open[at(count++)] = u;
  }
  std::atomic<bool> fails{false};
  parallel_ranges<index_t>(threads, n, rows_at_a_time, [&](int, index_t begin, index_t end) {
    std::vector<index_t> children;
    std::vector<char> justified;
    for (index_t u = begin; u < end && !fails.load(std::memory_order_relaxed); ++u) {
      if (!all_justified(u, children, justified)) fails.store(true, std::memory_order_relaxed);
    }
  });
  return !fails.load();
}

// Whether every child of u has an edge from u into its subtree; the one above the least neighbour
// of u has. The last child of u is u - 1, the one before a child stands before its subtree.
bool ordered_graph::all_justified(index_t u, std::vector<index_t>& children,
                                  std::vector<char>& justified) const {
  const index_t begin = subtree_begin_[at(u)];
  if (begin == u || subtree_begin_[at(u) - 1] == begin) return true;
  children.clear();
  for (index_t c = u - 1; c >= begin; c = subtree_begin_[at(c)] - 1) children.push_back(c);
  std::ranges::reverse(children);
  justified.assign(children.size(), 0);
  const auto column = symmetric_ ? std::span<const index_t>() : column_below(u);
  for (const auto neighbours : {row_below(u), column}) {
    std::size_t k = 0;
    for (const index_t i : neighbours) {
      while (children[k] < i) ++k;
      justified[k] = 1;
    }
  }
  return std::ranges::find(justified, 0) == justified.end();
}

// Liu 1990 with path compression.
void ordered_graph::build_tree() {
  parent.assign(at(n), -1);
  work_.assign(at(n), -1);
  const auto climb = [&](index_t k, index_t i) {
    for (;;) {
      const index_t next = work_[at(k)];
      if (next == i) return;
      work_[at(k)] = i;
      if (next < 0) {
        parent[at(k)] = i;
        return;
      }
      k = next;
    }
  };
  for (index_t i = 0; i < n; ++i) {
    // i is marked as its own ancestor, so that every climb ends there.
    work_[at(i)] = i;
    for (const index_t k : row_below(i)) climb(k, i);
    if (!symmetric_) {
      for (const index_t k : column_below(i)) climb(k, i);
    }
    work_[at(i)] = -1;
  }
}

void ordered_graph::relabel(int threads) {
  order = postorder(parent);
  std::vector<index_t>& label = work_;
  for (index_t v = 0; v < n; ++v) label[at(order[at(v)])] = v;

  const std::vector<index_t> old_parent = std::move(parent);
  parent.assign(at(n), -1);
  std::vector<offset_t> ptr{0};
  std::vector<offset_t> diagonal(at(n));
  std::vector<index_t> idx(rows_.idx.size());
  ptr.reserve(at(n) + 1);
  for (index_t v = 0; v < n; ++v) {
    const index_t old = order[at(v)];
    if (const index_t p = old_parent[at(old)]; p >= 0) parent[at(v)] = label[at(p)];
    // Smaller labels are placed from the front, larger ones from the back: the place of the
    // diagonal is left.
    offset_t front = ptr.back();
    offset_t back = front + static_cast<offset_t>(rows(old, old + 1).size());
    ptr.push_back(back);
    const auto place = [&](index_t j) {
      const index_t u = label[at(j)];
      idx[at(u < v ? front++ : --back)] = u;
    };
    for (const index_t j : row_below(old)) place(j);
    for (const index_t j : row_above(old)) place(j);
    idx[at(front)] = v;
    diagonal[at(v)] = front;
  }
  row_ptr_ = std::move(ptr);
  row_idx_ = std::move(idx);
  rows_ = {row_ptr_, row_idx_, std::move(diagonal)};
  if (!symmetric_) build_columns(threads);
}

}  // namespace gsofa::detail
