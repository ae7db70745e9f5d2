#include "variants/detail/bitmap_panels/forest.hpp"

#include <algorithm>

#include "common/preprocess.hpp"

namespace gsofa::detail {

namespace {
std::size_t at(offset_t i) { return static_cast<std::size_t>(i); }
}  // namespace

bool is_postordered(std::span<const index_t> parent) {
  // Open roots of the vertices so far. In a postorder the children of v are the last of them; one
  // that is not stays open for ever.
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
  row_ptr_ = a.row_ptr;
  row_idx_ = a.col_idx;
  order.clear();
  diagonal_.resize(at(n));
  for (index_t i = 0; i < n; ++i) {
    offset_t p = row_ptr_[at(i)];
    while (row_idx_[at(p)] < i) ++p;
    diagonal_[at(i)] = p;
  }
  symmetric_ = is_symmetric();
  if (!symmetric_) build_columns();
  build_tree();
  if (!is_postordered(parent)) relabel();
}

bool ordered_graph::is_symmetric() {
  // next_[j]: the entries of row_above(j) before it are those matched by rows < i
  std::vector<offset_t>& next = col_split_;
  next.resize(at(n));
  for (index_t i = 0; i < n; ++i) {
    next[at(i)] = diagonal_[at(i)] + 1;
    for (const index_t j : row_below(i)) {
      const offset_t p = next[at(j)]++;
      if (p == row_ptr_[at(j) + 1] || row_idx_[at(p)] != i) return false;
    }
  }
  for (index_t j = 0; j < n; ++j) {
    if (next[at(j)] != row_ptr_[at(j) + 1]) return false;
  }
  return true;
}

void ordered_graph::build_columns() {
  // col_ptr_[j + 2] counts column j, then col_ptr_[j + 1] is where its next row goes
  col_ptr_.assign(at(n) + 2, 0);
  col_split_.resize(at(n));
  for (index_t i = 0; i < n; ++i) {
    for (const index_t j : row_below(i)) ++col_ptr_[at(j) + 2];
    for (const index_t j : row_above(i)) ++col_ptr_[at(j) + 2];
  }
  for (index_t j = 0; j < n; ++j) col_ptr_[at(j) + 2] += col_ptr_[at(j) + 1];
  col_idx_.resize(at(col_ptr_.back()));
  for (index_t i = 0; i < n; ++i) {
    col_split_[at(i)] = col_ptr_[at(i) + 1];  // rows < i are in
    for (const index_t j : row_below(i)) col_idx_[at(col_ptr_[at(j) + 1]++)] = i;
    for (const index_t j : row_above(i)) col_idx_[at(col_ptr_[at(j) + 1]++)] = i;
  }
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
    // marks i as its own ancestor, so that every climb ends there
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
  std::vector<index_t> idx(row_idx_.size());
  ptr.reserve(at(n) + 1);
  for (index_t v = 0; v < n; ++v) {
    const index_t old = order[at(v)];
    if (const index_t p = old_parent[at(old)]; p >= 0) parent[at(v)] = label[at(p)];
    // smaller labels from the front, larger ones from the back: the diagonal's place is left
    offset_t front = ptr.back();
    const offset_t end = front + (row_ptr_[at(old) + 1] - row_ptr_[at(old)]);
    offset_t back = end;
    const auto place = [&](index_t j) {
      idx[at(label[at(j)] < v ? front++ : --back)] = label[at(j)];
    };
    for (const index_t j : row_below(old)) place(j);
    for (const index_t j : row_above(old)) place(j);
    idx[at(front)] = v;
    diagonal[at(v)] = front;
    ptr.push_back(end);
  }
  own_row_ptr_ = std::move(ptr);
  own_row_idx_ = std::move(idx);
  diagonal_ = std::move(diagonal);
  row_ptr_ = own_row_ptr_;
  row_idx_ = own_row_idx_;
  if (!symmetric_) build_columns();
}

}  // namespace gsofa::detail
