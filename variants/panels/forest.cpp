#include "variants/panels/forest.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <iterator>
#include <numeric>
#include <utility>

#include "common/parallel.hpp"
#include "common/preprocess.hpp"

namespace gsofa::panels {

namespace {

constexpr index_t rows_at_a_time = 1024;
// At most 2^8 buckets, whose ends stay in the first-level cache.
constexpr int bucket_bits = 8;

std::vector<index_t> joined(const std::vector<std::vector<index_t>>& lists) {
  std::vector<index_t> all;
  for (const auto& some : lists) all.insert(all.end(), some.begin(), some.end());
  return all;
}

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

// Sets rows_.diagonal and least_, and counts the entries below the diagonal: inner_.ptr[j + 1] is
// the number in column j inside the range of its thread, and b counts all others by buckets. Each
// thread scans the rows of its range. last_[j] is the least row of an earlier range with an entry
// in column j, or j.
ordered_graph::buckets ordered_graph::scan_rows(int threads) {
  buckets b = plan_buckets(threads);
  resize_to_write(least_, at(n));
  resize_to_write(last_, at(n));
  resize_to_write(inner_.ptr, at(n) + 1);
  parallel_parts(threads, [&](int t) {
    const index_t begin = b.first[at(t)];
    const index_t end = b.first[at(t) + 1];
    std::iota(least_.begin() + begin, least_.begin() + end, begin);
    std::iota(last_.begin() + begin, last_.begin() + end, begin);
    std::fill(inner_.ptr.begin() + begin + 1, inner_.ptr.begin() + end + 1, 0);
  });
  parallel_parts(threads, [&](int t) {
    scan_rows(b.first[at(t)], b.first[at(t) + 1], b.next[at(t)].data(), b.shift);
  });
  place_buckets(b);
  return b;
}

// The rows begin .. end - 1. Nothing branches inside the range except the ends of rows. The minimum
// needs no test for i < j, since least_[j] <= j.
void ordered_graph::scan_rows(index_t begin, index_t end, offset_t* others, int shift) {
  const index_t* const idx = rows_.idx.data();
  index_t* const least = least_.data();
  offset_t* const length = inner_.ptr.data() + 1;
  const bool alone = end - begin == n;
  for (index_t i = begin; i < end; ++i) {
    offset_t from = rows_.ptr[at(i)];
    offset_t to = rows_.ptr[at(i) + 1];
    least[i] = std::min(least[i], idx[from]);
    for (; !alone && idx[from] < begin; ++from) ++others[idx[from] >> shift];
    for (; !alone && idx[to - 1] >= end; --to) {
      // relaxed: minima are read after all threads have joined.
      std::atomic_ref<index_t> first(last_[at(idx[to - 1])]);
      index_t old = first.load(std::memory_order_relaxed);
      while (old > i && !first.compare_exchange_weak(old, i, std::memory_order_relaxed)) {
      }
    }
    offset_t diagonal = from;
    for (offset_t p = from; p < to; ++p) {
      const index_t j = idx[p];
      const offset_t below = j < i ? 1 : 0;
      diagonal += below;
      length[j] += below;
      least[j] = std::min(least[j], i);
    }
    rows_.diagonal[at(i)] = diagonal;
  }
}

// Transposes the entries below the diagonal: those inside the range of a thread to inner_, all
// others to outer_. Returns the v, except first children, for which no thread knows an entry of
// column P(v) or row P(v) in the subtree of v. A vertex that its thread leaves in doubt is looked
// up in the tables of all threads.
std::vector<index_t> ordered_graph::transpose_scanned(buckets& b, int threads) {
  std::vector<offset_t> place(at(threads) + 1, 0);
  parallel_ranges<int>(threads, threads, 1, [&](int, int t, int) {
    const auto length = inner_.ptr.begin() + 1;
    place[at(t) + 1] =
        std::accumulate(length + b.first[at(t)], length + b.first[at(t) + 1], offset_t{0});
  });
  for (std::size_t t = 1; t < place.size(); ++t) place[t] += place[t - 1];
  inner_.ptr[0] = 0;
  // After all entries, each thread has an unused place in a cache line of its own.
  constexpr offset_t apart = 128 / sizeof(entry);
  inner_.entries.resize(at(place.back() + threads * apart + 1));
  entries_.resize(at(b.begin.back()));
  resize_to_write(next_, at(n));
  resize_to_write(work_, at(n));
  const int tables = threads > 1 ? threads : 0;  // no row is outside the range of a single thread
  if (far_.size() < at(tables)) far_.resize(at(tables));
  std::vector<std::span<const index_t>> found(at(threads));
  parallel_parts(threads, [&](int t) {
    if (t < tables) far_[at(t)].clear();
    found[at(t)] = transpose_scanned(b, t, place[at(t)], place.back() + (t + 1) * apart);
  });
  transpose_buckets(b, threads, outer_);
  std::vector<index_t> all;
  for (const std::span<const index_t> some : found) {
    std::ranges::copy_if(some, std::back_inserter(all), [&](index_t v) {
      return std::all_of(far_.begin(), far_.begin() + tables,
                         [&](far_columns& f) { return is_doubtful(v, f.last_row(parent[at(v)])); });
    });
  }
  return all;
}

// The rows of thread t, whose entries inside its range go to inner_.entries[place ..]. last_[j] is
// the last row so far with an entry in column j of the range; -1: none; far_ has later columns.
// Returns the vertices in doubt, in the thread's part of work_.
std::span<const index_t> ordered_graph::transpose_scanned(buckets& b, int t, offset_t place,
                                                          offset_t unused) {
  const index_t begin = b.first[at(t)];
  const index_t end = b.first[at(t) + 1];
  for (index_t j = begin; j < end; ++j) {
    next_[at(j)] = place;
    inner_.ptr[at(j) + 1] = place += inner_.ptr[at(j) + 1];
    last_[at(j)] = -1;
  }
  const index_t* const idx = rows_.idx.data();
  offset_t* const next = next_.data();
  index_t* const last = last_.data();
  entry* const out = inner_.entries.data();
  offset_t* const others = b.next[at(t)].data();
  std::size_t doubtful = 0;
  index_t* const doubts = work_.data() + begin;
  const bool alone = end - begin == n;
  for (index_t i = begin; i < end; ++i) {
    offset_t from = rows_.ptr[at(i)];
    offset_t to = rows_.ptr[at(i) + 1];
    for (; !alone && idx[from] < begin; ++from) {
      entries_[at(others[idx[from] >> b.shift]++)] = {.row = i, .column = idx[from]};
    }
    for (; idx[to - 1] >= end; --to)
      far_[at(t)].of(idx[to - 1]) = {.row = i, .column = idx[to - 1]};
    for (offset_t p = from; p < to; ++p) {
      const index_t j = idx[p];
      const offset_t below = j < i ? 1 : 0;
      out[unused + ((next[j] - unused) & -below)] = {.row = i, .column = j};
      next[j] += below;
      last[j] = i;
    }
    const index_t u = parent[at(i)];
    doubts[doubtful] = i;
    doubtful += (u < end ? is_doubtful(i) : is_doubtful(i, far_[at(t)].last_row(u))) ? 1 : 0;
  }
  index_t* const end_of_doubts =
      std::remove_if(doubts, doubts + doubtful, [&](index_t v) { return has_edge_in_row(v); });
  return {doubts, end_of_doubts};
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

// Finds the nearest parents P(v) = min{ u > v : f(u) <= v }, f(u) the least neighbour of u in
// A + A^T (PROOFS.md, "Nearest parents"). P is the elimination tree, and the numbering a postorder
// of it, if every v has an edge from P(v) into its subtree; a first child always has one. Returns
// false if P is not the elimination tree.
bool ordered_graph::build_postordered_tree(int threads) {
  if (symmetric_) {
    find_nearest_parents(threads);
    return find_doubtful(threads).empty();
  }
  buckets b = scan_rows(threads);
  find_nearest_parents(threads);
  std::vector<index_t> doubtful = transpose_scanned(b, threads);
  return doubtful.empty() || (threads > 1 && have_edges_in_columns(doubtful, threads));
}

// The threads find the nearest parents inside chunks; one thread then those in later chunks.
void ordered_graph::find_nearest_parents(int threads) {
  resize_to_write(parent, at(n));
  resize_to_write(subtree_begin_, at(n));
  resize_to_write(work_, at(n));
  const int count = n < 4 * rows_at_a_time ? 1 : threads;
  std::vector<chunk> chunks(at(count));
  for (int c = 0; c < count; ++c) {
    chunks[at(c)].begin = static_cast<index_t>(offset_t{n} * c / count);
    chunks[at(c)].end = static_cast<index_t>(offset_t{n} * (c + 1) / count);
  }
  parallel_parts(count, [&](int c) { find_nearest_parents(chunks[at(c)]); });
  join_chunks(chunks);
}

// Open vertices are those without a parent so far. Their subtrees are consecutive ranges, so the
// subtree of u begins after the last vertex that is still open.
void ordered_graph::find_nearest_parents(chunk& c) {
  index_t* const open = work_.data() + c.begin;
  index_t count = 0;
  for (index_t u = c.begin; u < c.end; ++u) {
    const index_t reached = least_neighbour(u);
    while (count > 0 && open[count - 1] >= reached) parent[at(open[--count])] = u;
    parent[at(u)] = -1;
    subtree_begin_[at(u)] = count > 0 ? open[count - 1] + 1 : 0;
    if (count == 0 && c.begin > 0) c.first.push_back(u);
    open[count++] = u;
  }
  c.open = count;
}

// An open vertex of an earlier chunk can have as parent only a vertex that found none open in its
// own chunk.
void ordered_graph::join_chunks(std::span<const chunk> chunks) {
  std::vector<index_t> open;
  for (const chunk& c : chunks) {
    for (const index_t u : c.first) {
      for (; !open.empty() && open.back() >= least_neighbour(u); open.pop_back()) {
        parent[at(open.back())] = u;
      }
      subtree_begin_[at(u)] = open.empty() ? 0 : open.back() + 1;
    }
    if (&c != &chunks.back()) {
      open.insert(open.end(), work_.begin() + c.begin, work_.begin() + c.begin + c.open);
    }
  }
}

// Whether row P(v) has an entry in the subtree of v.
bool ordered_graph::has_edge_in_row(index_t v) const {
  const auto row = row_below(parent[at(v)]);
  const auto found = std::ranges::lower_bound(row, subtree_begin_[at(v)]);
  return found != row.end() && *found <= v;
}

// False only if v has no parent or P(v) has an edge into the subtree of v: v is the first child of
// P(v), or last_[P(v)], a neighbour of P(v), is in the subtree.
bool ordered_graph::is_doubtful(index_t v) const {
  const index_t u = parent[at(v)];
  return u >= 0 && is_doubtful(v, last_[at(u)]);
}

// The same if vertex `last` is a neighbour of P(v); negative: no neighbour is known.
bool ordered_graph::is_doubtful(index_t v, index_t last) const {
  const index_t begin = subtree_begin_[at(v)];
  return !(((last >= begin) & (last <= v)) | (begin == subtree_begin_[at(parent[at(v)])]));
}

std::vector<index_t> ordered_graph::without_edge_in_row(std::span<const index_t> doubtful) const {
  std::vector<index_t> all;
  std::ranges::copy_if(doubtful, std::back_inserter(all),
                       [&](index_t v) { return !has_edge_in_row(v); });
  return all;
}

// The vertices v of a symmetric pattern without an edge from P(v) into the subtree of v.
std::vector<index_t> ordered_graph::find_doubtful(int threads) {
  std::vector<std::vector<index_t>> found(at(threads));
  parallel_ranges<index_t>(threads, n, rows_at_a_time, [&](int t, index_t begin, index_t end) {
    std::array<index_t, rows_at_a_time> doubtful;
    std::size_t count = 0;
    for (index_t v = begin; v < end; ++v) {
      doubtful[count] = v;
      count += is_doubtful(v) ? 1 : 0;
    }
    const auto none = without_edge_in_row(std::span(doubtful).first(count));
    found[at(t)].insert(found[at(t)].end(), none.begin(), none.end());
  });
  return joined(found);
}

// Whether column P(v) has an entry in the subtree of v, for every v in `doubtful`.
bool ordered_graph::have_edges_in_columns(std::vector<index_t>& doubtful, int threads) {
  constexpr index_t wanted = -2;
  const auto place = [&](index_t v) { return std::pair(parent[at(v)], v); };
  std::ranges::sort(doubtful, {}, place);
  for (const index_t v : doubtful) last_[at(parent[at(v)])] = wanted;
  std::vector<char> found(doubtful.size(), 0);
  parallel_ranges<index_t>(threads, n, rows_at_a_time, [&](int, index_t begin, index_t end) {
    for (index_t i = begin; i < end; ++i) {
      for (const index_t u : row_above(i)) {
        if (last_[at(u)] != wanted) continue;
        const auto v = std::ranges::lower_bound(doubtful, std::pair(u, i), {}, place);
        if (v == doubtful.end() || parent[at(*v)] != u || subtree_begin_[at(*v)] > i) continue;
        // relaxed: read after all threads have joined
        std::atomic_ref(found[at(v - doubtful.begin())]).store(1, std::memory_order_relaxed);
      }
    }
  });
  return std::ranges::find(found, 0) == found.end();
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

}  // namespace gsofa::panels
