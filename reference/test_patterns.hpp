#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include "common/pattern.hpp"

namespace gsofa::reference::testing {

/// Pattern of order n from rows given as lists of columns in any order.
inline pattern from_rows(std::vector<std::vector<index_t>> rows) {
  pattern a;
  a.n_rows = a.n_cols = static_cast<index_t>(rows.size());
  for (auto& row : rows) {
    std::ranges::sort(row);
    a.col_idx.insert(a.col_idx.end(), row.begin(), row.end());
    a.row_ptr.push_back(static_cast<offset_t>(a.col_idx.size()));
  }
  return a;
}

/// Pattern of order n with the positions for which in(i, j) holds, and the diagonal.
template <class Predicate>
pattern from_predicate(index_t n, Predicate in) {
  std::vector<std::vector<index_t>> rows(static_cast<std::size_t>(n));
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = 0; j < n; ++j) {
      if (i == j || in(i, j)) rows[static_cast<std::size_t>(i)].push_back(j);
    }
  }
  return from_rows(std::move(rows));
}

/// Uniform in [0, bound), the same on every platform.
inline index_t draw(std::mt19937_64& engine, index_t bound) {
  return static_cast<index_t>(engine() % static_cast<std::uint64_t>(bound));
}

/// Full diagonal, each other position with probability percent / 100.
inline pattern random_pattern(std::mt19937_64& engine, index_t n, index_t percent) {
  return from_predicate(n, [&](index_t, index_t) { return draw(engine, 100) < percent; });
}

/// Strictly lower part, or upper part with the diagonal, of f.
inline pattern lower(const pattern& f) {
  pattern l;
  l.n_rows = l.n_cols = f.n_rows;
  for (index_t i = 0; i < f.n_rows; ++i) {
    for (const index_t j : f.row(i)) {
      if (j < i) l.col_idx.push_back(j);
    }
    l.row_ptr.push_back(static_cast<offset_t>(l.col_idx.size()));
  }
  return l;
}
inline pattern upper(const pattern& f) {
  pattern u;
  u.n_rows = u.n_cols = f.n_rows;
  for (index_t i = 0; i < f.n_rows; ++i) {
    for (const index_t j : f.row(i)) {
      if (j >= i) u.col_idx.push_back(j);
    }
    u.row_ptr.push_back(static_cast<offset_t>(u.col_idx.size()));
  }
  return u;
}

/// True if (i, j) is an entry of `a`.
inline bool contains(const pattern& a, index_t i, index_t j) {
  return std::ranges::binary_search(a.row(i), j);
}

/// f without its entry (i, j).
inline pattern without(const pattern& f, index_t i, index_t j) {
  pattern out = f;
  const auto row = f.row(i);
  const auto p =
      f.row_ptr[static_cast<std::size_t>(i)] + (std::ranges::lower_bound(row, j) - row.begin());
  out.col_idx.erase(out.col_idx.begin() + p);
  for (auto k = static_cast<std::size_t>(i) + 1; k < out.row_ptr.size(); ++k) --out.row_ptr[k];
  return out;
}

/// L+U by the fill-path theorem: (i, j) is in it iff i = j, (i, j) is in A, or breadth-first search
/// from i over vertices smaller than min(i, j) reaches an in-neighbour of j. O(n^2 nnz).
inline pattern fill_path_closure(const pattern& a) {
  return from_predicate(a.n_rows, [&](index_t i, index_t j) {
    std::vector<char> seen(static_cast<std::size_t>(a.n_rows), 0);
    std::vector<index_t> queue{i};
    for (std::size_t head = 0; head < queue.size(); ++head) {
      for (const index_t v : a.row(queue[head])) {
        if (v == j) return true;
        if (v >= std::min(i, j) || seen[static_cast<std::size_t>(v)] != 0) continue;
        seen[static_cast<std::size_t>(v)] = 1;
        queue.push_back(v);
      }
    }
    return false;
  });
}

/// Five-point grid of order side^2 in row-major order of its points.
inline pattern five_point_grid(index_t side) {
  std::vector<std::vector<index_t>> rows;
  for (index_t y = 0; y < side; ++y) {
    for (index_t x = 0; x < side; ++x) {
      const index_t v = y * side + x;
      std::vector<index_t> row{v};
      if (x > 0) row.push_back(v - 1);
      if (x + 1 < side) row.push_back(v + 1);
      if (y > 0) row.push_back(v - side);
      if (y + 1 < side) row.push_back(v + side);
      rows.push_back(std::move(row));
    }
  }
  return from_rows(std::move(rows));
}

}  // namespace gsofa::reference::testing
