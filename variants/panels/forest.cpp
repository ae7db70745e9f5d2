#include "variants/panels/forest.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>

#include "common/parallel.hpp"
#include "common/preprocess.hpp"

namespace gsofa::panels {

namespace {
// At most 2^8 buckets, whose ends stay in the first-level cache.
constexpr int bucket_bits = 8;
}  // namespace

bool is_postordered(std::span<const index_t> parent) {
  // Roots of the subtrees so far. In a postorder the children of v are the last of these roots; a
  // child elsewhere in the list is never closed.
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
  resize_to_write(rows_.diagonal, at(n));
  symmetric_ = find_symmetry(threads);
  if (build_postordered_tree(threads)) return;
  subtree_begin_.clear();
  build_tree(threads);
  if (!is_postordered(parent)) relabel(threads);
}

// Liu 1990 with path compression.
void ordered_graph::build_tree(int threads) {
  half_columns upper;
  if (!symmetric_) transpose_half(half::above, threads, upper);
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
      for (const entry& e : upper.of(i, i + 1)) climb(e.row, i);
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
    // Smaller labels go to the front, larger ones to the back, and the diagonal to the place that
    // is left.
    offset_t front = ptr.back();
    offset_t back = front + (rows_.ptr[at(old) + 1] - rows_.ptr[at(old)]);
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
  if (symmetric_) return;
  transpose_half(half::below, threads, inner_);
  outer_.ptr.clear();
}

// The pattern is symmetric if every entry below the diagonal has a mirror image and there are as
// many entries above the diagonal as below it. Sets rows_.diagonal of the rows it looks at. If the
// pattern is symmetric, least_[u] is the least neighbour of u (u included), and last_[u] the last
// neighbour before u, or u.
bool ordered_graph::find_symmetry(int threads) {
  const std::vector<index_t> first = row_ranges(threads);
  resize_to_write(next_, at(n));
  resize_to_write(least_, at(n));
  resize_to_write(last_, at(n));
  mirror_images<true> images(rows_.ptr, rows_.idx, next_, first);
  // relaxed: a hint while threads run; the verdict is read after they have joined.
  std::atomic<bool> differs{false};
  std::atomic<offset_t> below{0};
  parallel_parts(threads, [&](int t) {
    const offset_t found = mirrored_entries(images, at(t), first[at(t)], first[at(t) + 1], differs);
    below.fetch_add(found, std::memory_order_relaxed);
  });
  if (differs.load() || 2 * below.load() + n != rows_.ptr[at(n)]) return false;
  if (threads == 1) return true;
  parallel_parts(threads, [&](int t) {
    if (!images.find_listed(at(t))) differs.store(true, std::memory_order_relaxed);
  });
  return !differs.load();
}

// Counts the entries below the diagonal in the rows begin .. end - 1 of range k. Sets `differs` if
// an entry has no mirror image.
offset_t ordered_graph::mirrored_entries(mirror_images<true>& images, std::size_t k, index_t begin,
                                         index_t end, std::atomic<bool>& differs) {
  offset_t found = 0;
  for (index_t i = begin; i < end; ++i) {
    if (i % 64 == 0 && differs.load(std::memory_order_relaxed)) break;
    const offset_t first = rows_.ptr[at(i)];
    const offset_t diagonal = images.find(k, i);
    if (diagonal < 0) {
      differs.store(true, std::memory_order_relaxed);
      break;
    }
    rows_.diagonal[at(i)] = diagonal;
    least_[at(i)] = rows_.idx[at(first)];
    last_[at(i)] = rows_.idx[at(std::max(first, diagonal - 1))];
    found += diagonal - first;
  }
  return found;
}

// Ranges of rows with about the same number of entries each.
std::vector<index_t> ordered_graph::row_ranges(int threads) const {
  const offset_t nnz = rows_.ptr[at(n)];
  std::vector<index_t> first(at(threads) + 1, n);
  for (int t = 0; t < threads; ++t) {
    const auto row = std::ranges::lower_bound(rows_.ptr, nnz / threads * t);
    first[at(t)] = static_cast<index_t>(row - rows_.ptr.begin());
  }
  return first;
}

void ordered_graph::transpose_half(half h, int threads, half_columns& out) {
  if (threads == 1) {
    transpose_half(h, out);
    return;
  }
  buckets b = plan_buckets(threads);
  parallel_parts(threads, [&](int t) {
    for (index_t i = b.first[at(t)]; i < b.first[at(t) + 1]; ++i) {
      for (const index_t j : side(h, i)) ++b.next[at(t)][at(j) >> b.shift];
    }
  });
  place_buckets(b);
  entries_.resize(at(b.begin.back()));
  parallel_parts(threads, [&](int t) {
    for (index_t i = b.first[at(t)]; i < b.first[at(t) + 1]; ++i) {
      for (const index_t j : side(h, i)) {
        entries_[at(b.next[at(t)][at(j) >> b.shift]++)] = {.row = i, .column = j};
      }
    }
  });
  transpose_buckets(b, threads, out);
}

void ordered_graph::transpose_half(half h, half_columns& out) {
  out.ptr.assign(at(n) + 1, 0);
  for (index_t i = 0; i < n; ++i) {
    for (const index_t j : side(h, i)) ++out.ptr[at(j) + 1];
  }
  for (index_t j = 0; j < n; ++j) out.ptr[at(j) + 1] += out.ptr[at(j)];
  next_.assign(out.ptr.begin(), out.ptr.end() - 1);
  out.entries.resize(at(out.ptr.back()));
  for (index_t i = 0; i < n; ++i) {
    for (const index_t j : side(h, i)) {
      out.entries[at(next_[at(j)]++)] = {.row = i, .column = j};
    }
  }
}

// Each thread puts the entries of its rows into buckets of consecutive columns, in row order; then
// every bucket is transposed by itself.
ordered_graph::buckets ordered_graph::plan_buckets(int threads) const {
  const int bits = threads > 1 ? bucket_bits : 0;
  const int shift = std::max(0, static_cast<int>(std::bit_width(at(n))) - bits);
  return {.shift = shift,
          .first = row_ranges(threads),
          .next = {at(threads), std::vector<offset_t>((at(n) >> shift) + 1, 0)},
          .begin = {}};
}

// Replaces numbers of entries by places.
void ordered_graph::place_buckets(buckets& b) {
  const std::size_t count = b.next.front().size();
  b.begin.assign(count + 1, 0);
  offset_t total = 0;
  for (std::size_t k = 0; k < count; ++k) {
    for (std::vector<offset_t>& of : b.next) total += std::exchange(of[k], total);
    b.begin[k + 1] = total;
  }
}

// Transposes the entries that are in their buckets.
void ordered_graph::transpose_buckets(const buckets& b, int threads, half_columns& out) {
  const offset_t total = b.begin.back();
  resize_to_write(out.ptr, total == 0 ? 0 : at(n) + 1);
  if (total == 0) return;
  out.ptr[at(n)] = total;
  out.entries.resize(at(total));
  const std::size_t count = b.begin.size() - 1;
  parallel_ranges<std::size_t>(threads, count, 1, [&](int, std::size_t k, std::size_t) {
    const auto begin = static_cast<index_t>(k << b.shift);
    const auto end = static_cast<index_t>(std::min(at(n), (k + 1) << b.shift));
    if (begin >= end) return;
    out.ptr[at(begin)] = b.begin[k];
    transpose_bucket(entries_.view().subspan(at(b.begin[k]), at(b.begin[k + 1] - b.begin[k])),
                     begin, end, out);
  });
}

// `entries`: all entries of the columns begin .. end - 1, ascending by rows. Before: out.ptr[begin]
// is set.
void ordered_graph::transpose_bucket(std::span<const entry> entries, index_t begin, index_t end,
                                     half_columns& out) {
  std::vector<offset_t> next(at(end - begin) + 1, 0);
  for (const entry& e : entries) ++next[at(e.column - begin) + 1];
  next[0] = out.ptr[at(begin)];
  for (std::size_t k = 1; k < next.size(); ++k) next[k] += next[k - 1];
  // ptr[end] belongs to the next bucket.
  std::copy(next.begin() + 1, next.end() - 1, out.ptr.begin() + begin + 1);
  for (const entry& e : entries) out.entries[at(next[at(e.column - begin)]++)] = e;
}

}  // namespace gsofa::panels
