#include "common/symmetrize.hpp"

#include <algorithm>
#include <atomic>

#include "common/large_pages.hpp"
#include "common/mirror_images.hpp"
#include "common/parallel.hpp"

namespace gsofa {

namespace {

constexpr index_t rows_at_once = 2048;
constexpr offset_t least_entries = 1 << 16;  // fewer are faster on one thread
// Where threads must be started: that takes 5 ms for 16 in the median, and one thread needs 3 to
// 16 ns for an entry (experiments/regret/LOG.md).
constexpr offset_t least_entries_to_start_threads = 1 << 20;

// Calls body(j) for the union of two sorted rows, in ascending order.
template <class Body>
void for_union(std::span<const index_t> x, std::span<const index_t> y, Body&& body) {
  std::size_t p = 0;
  std::size_t q = 0;
  while (p < x.size() || q < y.size()) {
    if (q == y.size() || (p < x.size() && x[p] < y[q])) {
      body(x[p++]);
    } else {
      if (p < x.size() && x[p] == y[q]) ++p;
      body(y[q++]);
    }
  }
}

// Partial sums: start[i] is where row i of length[i] begins. Leaves the last sum at the end.
std::vector<offset_t> starts_of(std::span<const index_t> length) {
  std::vector<offset_t> start(length.size() + 1, 0);
  for (std::size_t i = 0; i < length.size(); ++i) start[i + 1] = start[i] + length[i];
  return start;
}

// Entries below the diagonal less those above it, in the rows begin .. end - 1 of range k. Sets
// `differs` if an entry below the diagonal has no mirror image.
offset_t excess_below(const pattern_view& a, mirror_images<false>& images,
                      std::span<const offset_t> next, std::size_t k, index_t begin, index_t end,
                      std::atomic<bool>& differs) {
  offset_t excess = 0;
  for (index_t i = begin; i < end; ++i) {
    if (i % 64 == 0 && differs.load(std::memory_order_relaxed)) break;
    const offset_t diagonal = images.find(k, i);
    if (diagonal < 0) {
      differs.store(true, std::memory_order_relaxed);
      break;
    }
    excess += diagonal - a.row_ptr[at(i)] - (a.row_ptr[at(i) + 1] - next[at(i)]);
  }
  return excess;
}

template <class Body>
void for_each_row(int threads, const pattern_view& a, const Body& body) {
  parallel_ranges(threads, a.n_rows, rows_at_once, [&](int, index_t from, index_t to) {
    for (index_t i = from; i < to; ++i) body(i);
  });
}

// A^T: its rows get their entries in any order, then are sorted.
pattern transpose_on(int threads, const pattern_view& a) {
  std::vector<index_t> length(at(a.n_rows), 0);
  for_each_row(threads, a, [&](index_t i) {
    for (const index_t j : a.row(i)) {
      std::atomic_ref(length[at(j)]).fetch_add(1, std::memory_order_relaxed);
    }
  });
  pattern t;
  t.n_rows = t.n_cols = a.n_rows;
  t.row_ptr = starts_of(length);
  index_t* const idx = storage_to_write(t.col_idx, a.col_idx.size());
  for_each_row(threads, a, [&](index_t i) {
    for (const index_t j : a.row(i)) {
      const index_t left = std::atomic_ref(length[at(j)]).fetch_sub(1, std::memory_order_relaxed);
      idx[t.row_ptr[at(j)] + left - 1] = i;
    }
  });
  for_each_row(threads, a,
               [&](index_t i) { std::sort(idx + t.row_ptr[at(i)], idx + t.row_ptr[at(i) + 1]); });
  take_written(t.col_idx, a.col_idx.size());
  return t;
}

// A, which is symmetric, with or without its diagonal.
pattern with_diagonal(const pattern_view& a, diagonal mode, int threads) {
  pattern out;
  out.n_rows = out.n_cols = a.n_rows;
  std::vector<index_t> length(at(a.n_rows));
  for_each_row(threads, a, [&](index_t i) {
    const auto row = a.row(i);
    const bool drops = mode == diagonal::drop && std::ranges::binary_search(row, i);
    length[at(i)] = static_cast<index_t>(row.size()) - (drops ? 1 : 0);
  });
  out.row_ptr = starts_of(length);
  const std::size_t size = at(out.row_ptr.back());
  index_t* const idx = storage_to_write(out.col_idx, size);
  for_each_row(threads, a, [&](index_t i) {
    const auto row = a.row(i);
    index_t* const begin = idx + out.row_ptr[at(i)];
    if (at(length[at(i)]) == row.size()) {
      std::ranges::copy(row, begin);
    } else {
      std::ranges::remove_copy(row, begin, i);
    }
  });
  take_written(out.col_idx, size);
  return out;
}

}  // namespace

bool is_symmetric(const pattern_view& a, int threads) {
  std::vector<offset_t> next(at(a.n_rows));
  std::vector<index_t> first(at(threads) + 1);
  for (int t = 0; t <= threads; ++t) {
    first[at(t)] = static_cast<index_t>(offset_t{a.n_rows} * t / threads);
  }
  mirror_images<false> images(a.row_ptr, a.col_idx, next, first);
  // relaxed: a hint while threads run; the verdict is read after they have joined.
  std::atomic<bool> differs{false};
  std::atomic<offset_t> excess{0};
  parallel_parts(threads, [&](int t) {
    excess.fetch_add(excess_below(a, images, next, at(t), first[at(t)], first[at(t) + 1], differs),
                     std::memory_order_relaxed);
  });
  if (differs.load() || excess.load() != 0) return false;
  parallel_parts(threads, [&](int t) {
    if (!images.find_listed(at(t))) differs.store(true, std::memory_order_relaxed);
  });
  return !differs.load();
}

pattern symmetrized(const pattern_view& a, diagonal mode, int threads) {
  if (threads < 1 || a.nnz() < least_entries) threads = 1;
  if (is_symmetric(a, threads)) return with_diagonal(a, mode, threads);
  const pattern t = threads == 1 ? transpose(a) : transpose_on(threads, a);
  const auto for_entries = [&](index_t i, auto&& body) {
    for_union(a.row(i), t.row(i), [&](index_t j) {
      if (mode == diagonal::keep || j != i) body(j);
    });
  };
  std::vector<index_t> length(at(a.n_rows), 0);
  for_each_row(threads, a, [&](index_t i) { for_entries(i, [&](index_t) { ++length[at(i)]; }); });
  pattern out;
  out.n_rows = out.n_cols = a.n_rows;
  out.row_ptr = starts_of(length);
  const std::size_t size = at(out.row_ptr.back());
  index_t* const idx = storage_to_write(out.col_idx, size);
  for_each_row(threads, a, [&](index_t i) {
    index_t* next = idx + out.row_ptr[at(i)];
    for_entries(i, [&](index_t j) { *next++ = j; });
  });
  take_written(out.col_idx, size);
  return out;
}

pattern_view graph_of(const pattern_view& a, int threads, pattern& storage) {
  if (threads < 1 || a.nnz() < least_entries_to_start_threads) threads = 1;
  if (count_missing_diagonal(a) == a.n_rows && is_symmetric(a, threads)) return a;
  storage = symmetrized(a, diagonal::drop, threads);
  return storage;
}

}  // namespace gsofa
