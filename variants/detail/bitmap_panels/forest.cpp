#include "variants/detail/bitmap_panels/forest.hpp"

#include <algorithm>

#include "common/preprocess.hpp"

namespace gsofa::detail {

namespace {
std::size_t at(offset_t i) { return static_cast<std::size_t>(i); }
}  // namespace

bool is_postordered(std::span<const index_t> parent) {
  // In a postorder v-1 is a leaf's predecessor or the last child of v, and the first vertex of a
  // subtree follows the previous one. Equivalent: the ranges [v - size + 1, v] nest by parent.
  const auto n = static_cast<index_t>(parent.size());
  std::vector<index_t> size(parent.size(), 1), first(parent.size());
  for (index_t v = 0; v < n; ++v) first[at(v)] = v;
  for (index_t v = 0; v < n; ++v) {
    // all children of v are smaller, so that size and first of v are complete
    if (first[at(v)] != v - size[at(v)] + 1) return false;
    const index_t p = parent[at(v)];
    if (p < 0) continue;
    size[at(p)] += size[at(v)];
    first[at(p)] = std::min(first[at(p)], first[at(v)]);
  }
  return true;
}

void ordered_graph::build(const pattern_view& a) {
  n = a.n_rows;
  row_ptr = a.row_ptr;
  row_idx = a.col_idx;
  order.clear();
  build_columns();
  build_tree();
  if (!is_postordered(parent)) relabel();
}

void ordered_graph::build_columns() {
  col_ptr.assign(at(n) + 1, 0);
  for (index_t i = 0; i < n; ++i) {
    for (const index_t j : row(i)) {
      if (j != i) ++col_ptr[at(j) + 1];
    }
  }
  for (index_t j = 0; j < n; ++j) col_ptr[at(j) + 1] += col_ptr[at(j)];
  col_idx.resize(at(col_ptr[at(n)]));
  // col_ptr[j] runs from the beginning of column j to its end, which is the beginning of the next
  for (index_t i = 0; i < n; ++i) {
    for (const index_t j : row(i)) {
      if (j != i) col_idx[at(col_ptr[at(j)]++)] = i;
    }
  }
  for (index_t j = n; j > 0; --j) col_ptr[at(j)] = col_ptr[at(j) - 1];
  col_ptr[0] = 0;
}

// Liu 1990 with path compression.
void ordered_graph::build_tree() {
  parent.assign(at(n), -1);
  work_.assign(at(n), -1);
  const auto climb = [&](index_t k, index_t i) {
    while (k != -1 && k < i) {
      const index_t next = work_[at(k)];
      work_[at(k)] = i;
      if (next == -1) parent[at(k)] = i;
      k = next;
    }
  };
  for (index_t i = 0; i < n; ++i) {
    for (const index_t k : row(i)) climb(k, i);
    for (const index_t k : column(i)) climb(k, i);
  }
}

void ordered_graph::relabel() {
  order = postorder(parent);
  std::vector<index_t>& label = work_;
  for (index_t v = 0; v < n; ++v) label[at(order[at(v)])] = v;

  std::vector<index_t> old_parent = std::move(parent);
  parent.assign(at(n), -1);
  for (index_t v = 0; v < n; ++v) {
    const index_t p = old_parent[at(order[at(v)])];
    parent[at(v)] = p < 0 ? -1 : label[at(p)];
  }
  std::vector<offset_t> new_row_ptr{0};
  std::vector<index_t> new_row_idx;
  new_row_ptr.reserve(at(n) + 1);
  new_row_idx.reserve(row_idx.size());
  for (index_t v = 0; v < n; ++v) {
    for (const index_t j : row(order[at(v)])) new_row_idx.push_back(label[at(j)]);
    new_row_ptr.push_back(static_cast<offset_t>(new_row_idx.size()));
  }
  own_row_ptr_ = std::move(new_row_ptr);
  own_row_idx_ = std::move(new_row_idx);
  row_ptr = own_row_ptr_;
  row_idx = own_row_idx_;
  build_columns();
}

}  // namespace gsofa::detail
