// A matching of maximum cardinality with the largest product of magnitudes, and its scales: the
// method of option 5 of MC64 (Duff & Koster, SIAM J. Matrix Anal. Appl. 22(4), 2001), in integers.
//
// With costs c(i,j) >= 0 (matching.hpp) the product is largest where the sum of the matched costs
// is least. Duals u, v keep the reduced costs c(i,j) - u_i - v_j >= 0, zero on matched entries.
// 1. u_i = min_j c(i,j), v = 0; tight entries are matched greedily, those of the diagonal first.
// 2. Rows bid for their cheapest column and displace its row, 2 n times at most (the augmenting row
// reduction of Jonker & Volgenant 1987). 3. Each unmatched row takes the shortest augmenting path,
// by Dijkstra's algorithm. 4. The tight entries hold all optimal matchings: among these one with
// many symmetric entries is searched (symmetric_search.hpp).
//
// |u|, |v| <= 3 n max c, which 64 bits hold. Equal input gives the equal matching. A structurally
// singular matrix, and one whose zeros make it so, gets a matching of maximum cardinality
// without duals. O(n (nnz + n log n)) at worst; most rows are matched before step 3.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "common/matching.hpp"
#include "variants/matchings/symmetric_search.hpp"

namespace gsofa::matchings {

namespace {

constexpr std::int64_t infinity = std::numeric_limits<std::int64_t>::max();

class assignment {
 public:
  assignment(const pattern_view& a, const std::vector<std::int64_t>& cost)
      : a_(a), cost_(cost), m_(a.n_rows), u_(at(a.n_rows), 0), v_(at(a.n_cols), 0) {}

  row_matching solve() {
    start();
    bid();
    find_paths();
    row_matching out;
    if (std::ranges::find(m_.row_of_col, -1) != m_.row_of_col.end()) {
      out.row_of_col = std::move(m_.row_of_col);
      return out;
    }
    choose_symmetric();
    out.row_of_col = std::move(m_.row_of_col);
    out.row_dual = std::move(u_);
    out.col_dual = std::move(v_);
    return out;
  }

 private:
  // action(column, cost) for the candidates of row i.
  template <class Action>
  void each(index_t i, const Action& action) const {
    for (auto p = at(a_.row_ptr[at(i)]); p < at(a_.row_ptr[at(i) + 1]); ++p) {
      if (cost_[p] != no_candidate) action(a_.col_idx[p], cost_[p]);
    }
  }

  void start() {
    for (index_t i = 0; i < a_.n_rows; ++i) {
      std::int64_t least = infinity;
      each(i, [&](index_t, std::int64_t c) { least = std::min(least, c); });
      u_[at(i)] = least == infinity ? 0 : least;
    }
    for (const bool on_diagonal : {true, false}) {
      for (index_t i = 0; i < a_.n_rows; ++i) {
        if (m_.col_of_row[at(i)] != -1) continue;
        each(i, [&](index_t j, std::int64_t c) {
          if ((i == j || !on_diagonal) && m_.col_of_row[at(i)] == -1 &&
              m_.row_of_col[at(j)] == -1 && c == u_[at(i)]) {
            m_.match(i, j);
          }
        });
      }
    }
  }

  void bid() {
    std::vector<index_t> open;
    for (index_t i = a_.n_rows; i-- > 0;) {
      if (m_.col_of_row[at(i)] == -1) open.push_back(i);
    }
    for (offset_t bids = 0; bids < 2 * offset_t{a_.n_rows} && !open.empty(); ++bids) {
      const index_t i = open.back();
      open.pop_back();
      std::int64_t first = infinity, second = infinity;
      index_t best = -1, other = -1;
      each(i, [&](index_t j, std::int64_t c) {
        const std::int64_t net = c - v_[at(j)];
        if (net < first) {
          second = std::exchange(first, net);
          other = std::exchange(best, j);
        } else if (net < second) {
          second = net;
          other = j;
        }
      });
      if (other == -1) continue;  // a single candidate has no second price: step 3
      if (first == second && m_.row_of_col[at(best)] != -1) std::swap(best, other);
      const index_t displaced = m_.row_of_col[at(best)];
      // A tie between matched columns gains nothing.
      if (first == second && displaced != -1) {
        u_[at(i)] = first;
        continue;
      }
      v_[at(best)] -= second - first;
      u_[at(i)] = second;
      m_.match(i, best);
      if (displaced != -1) {
        m_.col_of_row[at(displaced)] = -1;
        open.push_back(displaced);
      }
    }
  }

  void find_paths() {
    distance_.assign(at(a_.n_cols), infinity);
    reached_from_.assign(at(a_.n_cols), -1);
    closed_.assign(at(a_.n_cols), 0);
    for (index_t i = 0; i < a_.n_rows; ++i) {
      if (m_.col_of_row[at(i)] != -1) continue;
      // A row that was displaced last has the dual of its old column.
      std::int64_t least = infinity;
      each(i, [&](index_t j, std::int64_t c) { least = std::min(least, c - v_[at(j)]); });
      u_[at(i)] = least == infinity ? 0 : least;
      find_path(i);
    }
  }

  using candidate = std::pair<std::int64_t, index_t>;  // distance, column

  void find_path(index_t root) {
    heap_.clear();
    tied_.clear();
    settled_.clear();
    touched_.clear();
    std::int64_t here = 0, shortest = infinity;
    index_t end = -1;
    for (index_t i = root;;) {
      each(i, [&](index_t j, std::int64_t c) {
        const std::int64_t d = here + (c - u_[at(i)] - v_[at(j)]);
        if (d >= shortest || d >= distance_[at(j)] || closed_[at(j)] != 0) return;
        if (distance_[at(j)] == infinity) touched_.push_back(j);
        distance_[at(j)] = d;
        reached_from_[at(j)] = i;
        if (m_.row_of_col[at(j)] == -1) {
          shortest = d;
          end = j;
        } else if (d == here) {
          tied_.push_back(j);
        } else {
          heap_.emplace_back(d, j);
          std::ranges::push_heap(heap_, std::greater<>());
        }
      });
      if (shortest == here) break;
      const index_t j = next(here);
      if (j == -1 || here >= shortest) break;
      settled_.push_back(j);
      i = m_.row_of_col[at(j)];
    }
    if (end == -1) {
      // All columns that the row reaches are matched, and stay so: none is searched again.
      for (const index_t j : touched_) closed_[at(j)] = 1;
    } else {
      move_duals(root, shortest);
      for (index_t j = end, i = -1; i != root;) {
        i = reached_from_[at(j)];
        const index_t before = m_.col_of_row[at(i)];
        m_.match(i, j);
        j = before;
      }
    }
    for (const index_t j : touched_) distance_[at(j)] = infinity;
  }

  // The nearest column that is not settled, or -1; `here` becomes its distance.
  index_t next(std::int64_t& here) {
    if (!tied_.empty()) {
      const index_t j = tied_.back();
      tied_.pop_back();
      return j;
    }
    while (!heap_.empty()) {
      std::ranges::pop_heap(heap_, std::greater<>());
      const auto [d, j] = heap_.back();
      heap_.pop_back();
      if (d != distance_[at(j)]) continue;
      here = d;
      return j;
    }
    return -1;
  }

  // Reduced costs stay nonnegative, those of matched entries 0, and those of the path become 0.
  void move_duals(index_t root, std::int64_t length) {
    u_[at(root)] += length;
    for (const index_t j : settled_) {
      const std::int64_t slack = length - distance_[at(j)];
      v_[at(j)] -= slack;
      u_[at(m_.row_of_col[at(j)])] += slack;
    }
  }

  void choose_symmetric() {
    std::vector<std::uint8_t> tight(cost_.size(), 0);
    for (index_t i = 0; i < a_.n_rows; ++i) {
      for (auto p = at(a_.row_ptr[at(i)]); p < at(a_.row_ptr[at(i) + 1]); ++p) {
        tight[p] = static_cast<std::uint8_t>(cost_[p] != no_candidate &&
                                             cost_[p] == u_[at(i)] + v_[at(a_.col_idx[p])]);
      }
    }
    const pattern t = transpose(a_);
    m_ = more_symmetric(a_, t, std::move(m_), search_symmetric(a_, t, tight));
  }

  const pattern_view& a_;
  const std::vector<std::int64_t>& cost_;
  pairs m_;
  std::vector<std::int64_t> u_, v_;
  // Of the current search, by column: distance, the row before it, and whether it leads nowhere.
  std::vector<std::int64_t> distance_;
  std::vector<index_t> reached_from_;
  std::vector<std::uint8_t> closed_;
  std::vector<candidate> heap_;
  std::vector<index_t> tied_, settled_, touched_;
};

row_matching weighted(const matching_input& input, const matching_settings&) {
  return assignment(input.a, input.costs->cost).solve();
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
