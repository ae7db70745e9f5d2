// The fast path of forest.cpp: if the numbering is a postorder of the elimination tree, as in
// prepared inputs, the tree follows from the least neighbour of each vertex, and the pass that
// finds the least neighbours also transposes the entries below the diagonal. forest.cpp has
// build_tree() and relabel(), which work for every numbering.

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <numeric>
#include <utility>

#include "common/parallel.hpp"
#include "variants/panels/forest.hpp"

namespace gsofa::panels {

namespace {

constexpr index_t rows_at_a_time = 1024;

std::vector<index_t> joined(const std::vector<std::vector<index_t>>& lists) {
  std::vector<index_t> all;
  for (const auto& some : lists) all.insert(all.end(), some.begin(), some.end());
  return all;
}

}  // namespace

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

// Whether row P(v) has an entry in the subtree of v.
bool ordered_graph::has_edge_in_row(index_t v) const {
  const auto row = row_below(parent[at(v)]);
  const auto found = std::ranges::lower_bound(row, subtree_begin_[at(v)]);
  return found != row.end() && *found <= v;
}

std::vector<index_t> ordered_graph::without_edge_in_row(std::span<const index_t> doubtful) const {
  std::vector<index_t> all;
  std::ranges::copy_if(doubtful, std::back_inserter(all),
                       [&](index_t v) { return !has_edge_in_row(v); });
  return all;
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

}  // namespace gsofa::panels
