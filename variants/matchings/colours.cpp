#include "variants/matchings/colours.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "common/parallel.hpp"
#include "common/random.hpp"

namespace gsofa::matchings {

namespace {

using colour_list = std::vector<std::uint64_t>;

constexpr int most_colourings = 20;
constexpr offset_t least_loss =
    64;  // rounds end when fewer than 1/64 of the entries cease to agree

// The partner of `v` in `lines` that is not matched; the last of several.
index_t open_partner(std::span<const index_t> line, const std::vector<index_t>& partner) {
  index_t found = -1;
  for (const index_t w : line) {
    if (partner[at(w)] == -1) found = w;
  }
  return found;
}

// action(row) for the rows of `a` that are not matched, on all threads.
template <class Action>
void each_open_row(const pattern_view& a, const std::vector<index_t>& partner, int threads,
                   const Action& action) {
  parallel_ranges(threads, a.n_rows, index_t{1024}, [&](int, index_t begin, index_t end) {
    for (index_t i = begin; i < end; ++i) {
      if (partner[at(i)] == -1) action(i);
    }
  });
}

// Colours of the open lines of `a`, from those of the lines that cross them.
void recolour(const pattern_view& a, const std::vector<index_t>& partner,
              const colour_list& crossing, const std::vector<index_t>& crossing_partner,
              const colour_list& old, int threads, colour_list& out) {
  each_open_row(a, partner, threads, [&](index_t i) {
    std::uint64_t sum = 0;
    for (const index_t j : a.row(i)) {
      if (crossing_partner[at(j)] == -1) sum += crossing[at(j)];
    }
    out[at(i)] = mix64(5 * old[at(i)] + sum);
  });
}

colour_list degrees(const pattern_view& a, const std::vector<index_t>& partner,
                    const std::vector<index_t>& crossing_partner, int threads) {
  colour_list out(at(a.n_rows));
  each_open_row(a, partner, threads, [&](index_t i) {
    out[at(i)] = mix64(static_cast<std::uint64_t>(
        std::ranges::count_if(a.row(i), [&](index_t j) { return crossing_partner[at(j)] == -1; })));
  });
  return out;
}

}  // namespace

void match_forced(const pattern_view& a, const pattern_view& t, pairs& m) {
  const index_t n = a.n_rows;
  std::vector<index_t> row_degree(at(n)), col_degree(at(n));
  std::vector<index_t> queue;  // rows, and columns as n + j
  for (index_t i = 0; i < n; ++i) {
    row_degree[at(i)] = static_cast<index_t>(a.row(i).size());
    col_degree[at(i)] = static_cast<index_t>(t.row(i).size());
    if (row_degree[at(i)] == 1) queue.push_back(i);
    if (col_degree[at(i)] == 1) queue.push_back(n + i);
  }
  for (std::size_t k = 0; k < queue.size(); ++k) {
    const bool by_row = queue[k] < n;
    const index_t v = by_row ? queue[k] : queue[k] - n;
    if ((by_row ? m.col_of_row : m.row_of_col)[at(v)] != -1) continue;
    const index_t w =
        by_row ? open_partner(a.row(v), m.row_of_col) : open_partner(t.row(v), m.col_of_row);
    if (w == -1) continue;
    const auto [i, j] = by_row ? std::pair(v, w) : std::pair(w, v);
    m.match(i, j);
    for (const index_t c : a.row(i)) {
      if (m.row_of_col[at(c)] == -1 && --col_degree[at(c)] == 1) queue.push_back(n + c);
    }
    for (const index_t r : t.row(j)) {
      if (m.col_of_row[at(r)] == -1 && --row_degree[at(r)] == 1) queue.push_back(r);
    }
  }
}

agreement refine_colours(const pattern_view& a, const pattern_view& t,
                         const pattern_view& candidates, const pairs& m, int threads) {
  colour_list rows = degrees(a, m.col_of_row, m.row_of_col, threads);
  colour_list cols = degrees(t, m.row_of_col, m.col_of_row, threads);
  colour_list new_rows = rows, new_cols = cols;
  agreement out{.depth = std::vector<std::uint8_t>(at(candidates.nnz()), 0)};
  for (offset_t before = candidates.nnz() + 1;;) {
    std::atomic<offset_t> all{0};
    each_open_row(a, m.col_of_row, threads, [&](index_t i) {
      offset_t agreeing = 0;
      const auto end = at(candidates.row_ptr[at(i) + 1]);
      for (auto p = at(candidates.row_ptr[at(i)]); p < end; ++p) {
        const index_t j = candidates.col_idx[p];
        if (out.depth[p] == out.rounds && m.row_of_col[at(j)] == -1 && rows[at(i)] == cols[at(j)]) {
          ++out.depth[p];
          ++agreeing;
        }
      }
      if (agreeing > 0) all.fetch_add(agreeing, std::memory_order_relaxed);
    });
    if (all == 0) return out;
    if (++out.rounds == most_colourings || all > before - before / least_loss) return out;
    before = all;
    recolour(a, m.col_of_row, cols, m.row_of_col, rows, threads, new_rows);
    recolour(t, m.row_of_col, rows, m.col_of_row, cols, threads, new_cols);
    rows.swap(new_rows);
    cols.swap(new_cols);
  }
}

}  // namespace gsofa::matchings
