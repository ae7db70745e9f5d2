#include "variants/panels/forest.hpp"

#include <algorithm>

#include "common/preprocess.hpp"

namespace gsofa::detail {

namespace {}  // namespace

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

void ordered_graph::build(const pattern_view& a) {
  n = a.n_rows;
  rows_.ptr = a.row_ptr;
  rows_.idx = a.col_idx;
  order.clear();
  rows_.diagonal.resize(at(n));
  symmetric_ = find_symmetry();
  if (!symmetric_) build_columns();
  if (build_postordered_tree()) return;
  build_tree();
  if (!is_postordered(parent)) relabel();
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

void ordered_graph::build_columns() {
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
  columns_.idx = col_idx_;
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

void ordered_graph::relabel() {
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
  if (!symmetric_) build_columns();
}

}  // namespace gsofa::detail
