#include "harness/check/shrink.hpp"

#include <algorithm>
#include <chrono>

namespace gsofa {

namespace {

// a without the vertices first .. first + count - 1.
pattern without_vertices(const pattern& a, index_t first, index_t count) {
  triplets t;
  t.n_rows = t.n_cols = a.n_rows - count;
  auto removed = [&](index_t v) { return v >= first && v < first + count; };
  auto label = [&](index_t v) { return v < first ? v : v - count; };
  for (index_t i = 0; i < a.n_rows; ++i) {
    if (removed(i)) continue;
    for (const index_t j : a.row(i)) {
      if (removed(j)) continue;
      t.rows.push_back(label(i));
      t.cols.push_back(label(j));
    }
  }
  return from_triplets(t, duplicates::reject);
}

// a without `count` of its off-diagonal entries, from number `first` on.
pattern without_entries(const pattern& a, offset_t first, offset_t count) {
  triplets t;
  t.n_rows = t.n_cols = a.n_rows;
  offset_t number = 0;
  for (index_t i = 0; i < a.n_rows; ++i) {
    for (const index_t j : a.row(i)) {
      const bool removed = i != j && number >= first && number < first + count;
      number += i != j ? 1 : 0;
      if (removed) continue;
      t.rows.push_back(i);
      t.cols.push_back(j);
    }
  }
  return from_triplets(t, duplicates::reject);
}

}  // namespace

pattern shrink(pattern a, const std::function<bool(const pattern&)>& fails, double seconds) {
  using clock = std::chrono::steady_clock;
  const auto begin = clock::now();
  auto late = [&] { return std::chrono::duration<double>(clock::now() - begin).count() > seconds; };
  for (bool changed = true; changed && !late();) {
    changed = false;
    auto keep_if_fails = [&](pattern candidate) {
      if (!fails(candidate)) return false;
      a = std::move(candidate);
      return changed = true;
    };
    for (index_t count = std::max<index_t>(1, a.n_rows / 2); count >= 1; count /= 2) {
      for (index_t first = 0; first + count <= a.n_rows && count < a.n_rows && !late();) {
        if (!keep_if_fails(without_vertices(a, first, count))) first += count;
      }
    }
    auto entries = [&] { return a.nnz() - a.n_rows; };
    for (offset_t count = std::max<offset_t>(1, entries() / 2); count >= 1; count /= 2) {
      for (offset_t first = 0; first < entries() && !late();) {
        if (!keep_if_fails(without_entries(a, first, count))) first += count;
      }
    }
  }
  return a;
}

}  // namespace gsofa
