// A matching of maximum cardinality with the largest product of magnitudes, and its scales: the
// method of option 5 of MC64 (Duff & Koster, SIAM J. Matrix Anal. Appl. 22(4), 2001), in integers.
//
// With costs c(i,j) >= 0 (matching.hpp) the product is largest where the sum of the matched costs
// is least. Duals u of rows and v of columns keep the reduced costs c(i,j) - u_i - v_j >= 0, zero
// on matched entries. 1. The duals of rows make the largest magnitude of each row cost 0, then v_j
// = min_i c(i,j) - u_i; tight entries are matched greedily, those of the diagonal first.
// 2. Columns bid for their cheapest row and displace its column, 2 n times at most (the augmenting
// row reduction of Jonker & Volgenant 1987). 3. Each unmatched column takes the shortest augmenting
// path, by Dijkstra's algorithm. 4. The tight entries hold all optimal matchings: among these one
// with many symmetric entries is searched (symmetric_search.hpp).
//
// |u|, |v| <= 3 n max c, which 64 bits hold. Equal input gives the equal matching. A structurally
// singular matrix, and one whose zeros make it so, gets a matching of maximum cardinality
// without duals. O(n (nnz + n log n)) at worst; most columns are matched before step 3.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/matching.hpp"
#include "variants/matchings/symmetric_search.hpp"

namespace gsofa::matchings {

namespace {

constexpr std::int64_t infinity = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t never = -1;  // the distance of rows that lead to no unmatched row

struct candidate {
  index_t row = -1;
  std::int64_t cost = infinity;  // without the first dual of the row
};

// A row: its dual is the sum of two, the second at most 0. In the current search it has a distance
// and a column before it. One record, as searches read rows at random.
struct row_record {
  std::int64_t first_dual = 0, dual = 0, distance = infinity;
  index_t reached_from = -1;
};

class assignment {
 public:
  explicit assignment(const matching_input& input)
      : a_(input.a),
        t_(input.t),
        costs_(*input.costs),
        m_(a_.n_rows),
        rows_(at(a_.n_rows)),
        v_(at(a_.n_cols), infinity),
        candidates_(std::make_unique_for_overwrite<candidate[]>(at(a_.nnz()))),
        candidates_end_(at(a_.n_cols), -1) {}

  row_matching solve() {
    start();
    bid();
    find_paths();
    row_matching out;
    if (std::ranges::find(m_.row_of_col, -1) != m_.row_of_col.end()) {
      out.row_of_col = std::move(m_.row_of_col);
      return out;
    }
    m_ = more_symmetric(a_, t_, tight(), std::move(m_));
    out.row_of_col = std::move(m_.row_of_col);
    for (const row_record& row : rows_) out.row_dual.push_back(row.first_dual + row.dual);
    for (std::size_t j = 0; j < v_.size(); ++j) v_[j] += costs_.column_log[j];
    out.col_dual = std::move(v_);
    return out;
  }

 private:
  // action(column, cost) for the candidates of row i; costs compare with those of its column alone.
  template <class Action>
  void each(index_t i, const Action& action) const {
    for (auto p = at(a_.row_ptr[at(i)]); p < at(a_.row_ptr[at(i) + 1]); ++p) {
      const index_t j = a_.col_idx[p];
      if (costs_.cost[p] != no_candidate) action(j, costs_.cost[p] - costs_.column_log[at(j)]);
    }
  }

  // The candidates of column j, gathered when they are first asked for.
  std::span<const candidate> column(index_t j) {
    offset_t& end = candidates_end_[at(j)];
    const offset_t begin = t_.row_ptr[at(j)];
    if (end == -1) {
      end = begin;
      for (const index_t i : t_.row(j)) {
        const auto row = a_.row(i);
        const auto p = a_.row_ptr[at(i)] + (std::ranges::lower_bound(row, j) - row.begin());
        const std::int64_t cost = costs_.cost[at(p)];
        if (cost == no_candidate) continue;
        candidates_[at(end++)] = {i, cost - costs_.column_log[at(j)] - rows_[at(i)].first_dual};
      }
    }
    return {candidates_.get() + begin, candidates_.get() + end};
  }

  void start() {
    for (index_t i = 0; i < a_.n_rows; ++i) {
      std::int64_t least = infinity;
      each(i, [&](index_t, std::int64_t c) { least = std::min(least, c); });
      rows_[at(i)].first_dual = least == infinity ? 0 : least;
      each(i, [&](index_t j, std::int64_t c) { v_[at(j)] = std::min(v_[at(j)], c - least); });
    }
    std::ranges::replace(v_, infinity, std::int64_t{0});
    const auto match_tight = [&](index_t i, bool on_diagonal) {
      each(i, [&](index_t j, std::int64_t c) {
        if ((i == j || !on_diagonal) && m_.col_of_row[at(i)] == -1 && m_.row_of_col[at(j)] == -1 &&
            c == rows_[at(i)].first_dual + v_[at(j)]) {
          m_.match(i, j);
        }
      });
    };
    for (index_t i = 0; i < a_.n_rows; ++i) match_tight(i, true);
    for (index_t i = 0; i < a_.n_rows; ++i) {
      if (m_.col_of_row[at(i)] == -1) match_tight(i, false);
    }
  }

  void bid() {
    std::vector<index_t> open;
    for (index_t j = a_.n_cols; j-- > 0;) {
      if (m_.row_of_col[at(j)] == -1) open.push_back(j);
    }
    for (offset_t bids = 0; bids < 2 * offset_t{a_.n_rows} && !open.empty(); ++bids) {
      const index_t j = open.back();
      open.pop_back();
      std::int64_t first = infinity, second = infinity;
      index_t best = -1, other = -1;
      for (const auto& [i, cost] : column(j)) {
        const std::int64_t net = cost - rows_[at(i)].dual;
        if (net < first) {
          second = std::exchange(first, net);
          other = std::exchange(best, i);
        } else if (net < second) {
          second = net;
          other = i;
        }
      }
      if (other == -1) continue;  // a single candidate has no second price: step 3
      if (first == second && m_.col_of_row[at(best)] != -1) std::swap(best, other);
      const index_t displaced = m_.col_of_row[at(best)];
      // A tie between matched rows gains nothing.
      if (first == second && displaced != -1) {
        v_[at(j)] = first;
        continue;
      }
      rows_[at(best)].dual -= second - first;
      v_[at(j)] = second;
      m_.match(best, j);
      if (displaced != -1) {
        m_.row_of_col[at(displaced)] = -1;
        open.push_back(displaced);
      }
    }
  }

  void find_paths() {
    for (index_t j = 0; j < a_.n_cols; ++j) {
      if (m_.row_of_col[at(j)] != -1) continue;
      // A column that was displaced last has the dual of its old row.
      std::int64_t least = infinity;
      for (const auto& [i, cost] : column(j)) least = std::min(least, cost - rows_[at(i)].dual);
      v_[at(j)] = least == infinity ? 0 : least;
      find_path(j);
    }
  }

  void find_path(index_t root) {
    heap_.clear();
    tied_.clear();
    settled_.clear();
    touched_.clear();
    std::int64_t here = 0, shortest = infinity;
    index_t end = -1;
    for (index_t j = root;;) {
      const std::int64_t base = here - v_[at(j)];
      for (const auto& [i, cost] : column(j)) {
        if (base + cost >= shortest) continue;  // duals of rows do not shorten it
        row_record& row = rows_[at(i)];
        const std::int64_t d = base + cost - row.dual;
        if (d >= shortest || d >= row.distance) continue;
        if (row.distance == infinity) touched_.push_back(i);
        row.distance = d;
        row.reached_from = j;
        if (m_.col_of_row[at(i)] == -1) {
          shortest = d;
          end = i;
        } else if (d == here) {
          tied_.push_back(i);
        } else {
          heap_.emplace_back(d, i);
          std::ranges::push_heap(heap_, std::greater<>());
        }
      }
      if (shortest == here) break;
      const index_t i = next(here);
      if (i == -1 || here >= shortest) break;
      settled_.push_back(i);
      j = m_.col_of_row[at(i)];
    }
    if (end == -1) {
      // All rows that the column reaches are matched, and stay so: none is searched again.
      for (const index_t i : touched_) rows_[at(i)].distance = never;
      return;
    }
    move_duals(root, shortest);
    for (index_t i = end, j = -1; j != root;) {
      j = rows_[at(i)].reached_from;
      const index_t before = m_.row_of_col[at(j)];
      m_.match(i, j);
      i = before;
    }
    for (const index_t i : touched_) rows_[at(i)].distance = infinity;
  }

  // The nearest row that is not settled, or -1; `here` becomes its distance.
  index_t next(std::int64_t& here) {
    if (!tied_.empty()) {
      const index_t i = tied_.back();
      tied_.pop_back();
      return i;
    }
    while (!heap_.empty()) {
      std::ranges::pop_heap(heap_, std::greater<>());
      const auto [d, i] = heap_.back();
      heap_.pop_back();
      if (d != rows_[at(i)].distance) continue;
      here = d;
      return i;
    }
    return -1;
  }

  // Reduced costs stay nonnegative, those of matched entries 0, and those of the path become 0.
  void move_duals(index_t root, std::int64_t length) {
    v_[at(root)] += length;
    for (const index_t i : settled_) {
      const std::int64_t slack = length - rows_[at(i)].distance;
      rows_[at(i)].dual -= slack;
      v_[at(m_.col_of_row[at(i)])] += slack;
    }
  }

  // The entries with reduced cost 0.
  [[nodiscard]] pattern tight() const {
    pattern out{a_.n_rows, a_.n_cols, {0}, {}};
    for (index_t i = 0; i < a_.n_rows; ++i) {
      const std::int64_t dual = rows_[at(i)].first_dual + rows_[at(i)].dual;
      each(i, [&](index_t j, std::int64_t c) {
        if (c == dual + v_[at(j)]) out.col_idx.push_back(j);
      });
      out.row_ptr.push_back(static_cast<offset_t>(out.col_idx.size()));
    }
    return out;
  }

  const pattern_view &a_, &t_;
  const matching_costs& costs_;
  pairs m_;
  std::vector<row_record> rows_;
  std::vector<std::int64_t> v_;
  std::unique_ptr<candidate[]> candidates_;
  std::vector<offset_t> candidates_end_;  // by column; -1: not gathered
  // Of the current search.
  std::vector<std::pair<std::int64_t, index_t>> heap_;  // distance, row
  std::vector<index_t> tied_, settled_, touched_;
};

row_matching weighted(const matching_input& input, const matching_settings&) {
  return assignment(input).solve();
}

}  // namespace

GSOFA_REGISTER_MATCHING({
    .name = "weighted",
    .summary = "the largest product of magnitudes, exact, with scales; prefers symmetric entries",
    .citation = "Duff & Koster 2001; Jonker & Volgenant 1987",
    .needs_values = true,
    .compute = weighted,
});

}  // namespace gsofa::matchings
