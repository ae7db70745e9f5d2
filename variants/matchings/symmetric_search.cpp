#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/matching.hpp"
#include "variants/matchings/colours.hpp"
#include "variants/matchings/symmetric_search.hpp"

namespace gsofa::matchings {

namespace {

constexpr int most_passes = 5;      // of exchanges
constexpr int most_rematches = 10;  // of step 6
constexpr int least_gain = 200;     // step 6 ends when a round adds less than 1/200
constexpr int gain_weight = 4;
constexpr int keys = 512;  // of each half: entries that agree in all rounds come first

bool is_perfect(const pairs& m) {
  return std::ranges::find(m.row_of_col, -1) == m.row_of_col.end();
}

class search {
 public:
  search(const pattern_view& a, const pattern_view& t, const pattern_view& candidates, pairs forced,
         const std::atomic<bool>* stop = nullptr)
      : stop_(stop),
        a_(a),
        t_(t),
        candidates_(candidates),
        m_(std::move(forced)),
        limit_(std::clamp<offset_t>(4 * (a.nnz() / std::max<offset_t>(a.n_rows, 1)), 64, 1 << 15)),
        gain_(at(candidates.nnz()), 0),
        mark_(at(a.n_cols), -1),
        changed_(at(a.n_cols), 1) {
    for (index_t i = 0; i < a.n_rows; ++i) {
      row_of_.resize(at(candidates_.row_ptr[at(i) + 1]), i);
    }
  }

  pairs matching() {
    {
      const agreement agrees = refine_colours(a_, t_, candidates_, m_);
      match_unique(agrees);
      match_greedily(agrees);
    }
    augment(candidates_, m_);
    offset_t best = improve();
    for (int round = 0; round < most_rematches && best < most_symmetric(); ++round) {
      check_stop();
      pairs last = m_;
      match_by_gains();
      augment(candidates_, m_);
      const offset_t before = std::exchange(best, improve());
      if (best <= before) return last;
      if (best - before < before / least_gain) break;
    }
    return m_;
  }

 private:
  void check_stop() const {
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) throw cancelled_error();
  }
  [[nodiscard]] bool is_open(std::size_t p) const {
    return m_.col_of_row[at(row_of_[p])] == -1 && m_.row_of_col[at(col_of(p))] == -1;
  }
  [[nodiscard]] index_t col_of(std::size_t p) const { return candidates_.col_idx[p]; }
  [[nodiscard]] bool is_long(std::span<const index_t> line) const {
    return std::ssize(line) > limit_;
  }

  // The deepest agreement of each line, and how many entries have it, up to 3.
  struct deepest {
    std::vector<std::uint8_t> depth, count;
    explicit deepest(index_t n) : depth(at(n), 0), count(at(n), 0) {}
    void add(index_t v, std::uint8_t d) {
      if (d > depth[at(v)]) count[at(v)] = 0;
      if (d >= depth[at(v)])
        count[at(v)] = static_cast<std::uint8_t>(std::min(3, count[at(v)] + 1));
      depth[at(v)] = std::max(depth[at(v)], d);
    }
    // 2: no other entry of the line agrees as long; 1: one other entry; 0: more.
    [[nodiscard]] int rarity(index_t v, std::uint8_t d) const {
      return d > 0 && depth[at(v)] == d ? 3 - count[at(v)] : 0;
    }
  };

  void match_unique(const agreement& agrees) {
    deepest rows(a_.n_rows), cols(a_.n_cols);
    for (std::size_t p = 0; p < row_of_.size(); ++p) {
      rows.add(row_of_[p], agrees.depth[p]);
      cols.add(col_of(p), agrees.depth[p]);
    }
    key_.assign(row_of_.size(), 0);
    for (std::size_t p = 0; p < row_of_.size(); ++p) {
      const std::uint8_t d = agrees.depth[p];
      const int rarity = std::min(rows.rarity(row_of_[p], d), cols.rarity(col_of(p), d));
      key_[p] = static_cast<std::uint8_t>(d + rarity);
      if (is_open(p) && rarity == 2 && d == agrees.rounds) m_.match(row_of_[p], col_of(p));
    }
  }

  // Buckets of entries by key. An entry is in the bucket of its key, and in some that it has left.
  void match_greedily(const agreement& agrees) {
    const auto key = [&](std::size_t p) {
      const int k = std::min(keys - 1, key_[p] + gain_weight * gain_[p]);
      return at(k + (agrees.depth[p] == agrees.rounds ? keys : 0));
    };
    std::vector<std::vector<offset_t>> buckets(2 * keys);
    if (std::ranges::find(m_.row_of_col, -1) == m_.row_of_col.end()) return;
    find_gains();
    for (std::size_t p = row_of_.size(); p-- > 0;) {
      if (is_open(p)) buckets[key(p)].push_back(static_cast<offset_t>(p));
    }
    for (std::size_t b = buckets.size(); b-- > 0;) {
      while (!buckets[b].empty()) {
        check_stop();
        const std::size_t p = at(buckets[b].back());
        buckets[b].pop_back();
        if (key(p) != b || !is_open(p)) continue;
        m_.match(row_of_[p], col_of(p));
        std::size_t top = b;
        give_gains(row_of_[p], col_of(p), [&](std::size_t e) {
          if (!is_open(e)) return;
          ++gain_[e];
          buckets[key(e)].push_back(static_cast<offset_t>(e));
          top = std::max(top, key(e));
        });
        b = top;
      }
    }
  }

  // give(e) for each entry e = (i, j) with entries (r, j) and (i, c), i != r, j != c.
  template <class Give>
  void give_gains(index_t r, index_t c, const Give& give) {
    if (is_long(a_.row(r)) || is_long(t_.row(c))) return;
    for (const index_t j : a_.row(r)) mark_[at(j)] = c;
    mark_[at(c)] = -1;
    for (const index_t i : t_.row(c)) {
      if (i == r || is_long(a_.row(i))) continue;
      const auto end = at(candidates_.row_ptr[at(i) + 1]);
      for (auto e = at(candidates_.row_ptr[at(i)]); e < end; ++e) {
        if (mark_[at(col_of(e))] == c) give(e);
      }
    }
    for (const index_t j : a_.row(r)) mark_[at(j)] = -1;
  }

  // Sets gain_ by the matching; the sum of those of matched entries, their symmetric entries.
  offset_t find_gains() {
    std::ranges::fill(gain_, std::uint16_t{0});
    for (index_t c = 0; c < a_.n_cols; ++c) {
      if (const index_t r = m_.row_of_col[at(c)]; r != -1) {
        give_gains(r, c, [&](std::size_t e) { ++gain_[e]; });
      }
    }
    offset_t sum = 0;
    for (std::size_t p = 0; p < row_of_.size(); ++p) {
      if (m_.row_of_col[at(col_of(p))] == row_of_[p]) sum += gain_[p];
    }
    return sum;
  }

  // By descending gain; a matched entry counts one more than its gain. Ties by number.
  void match_by_gains() {
    std::vector<std::vector<offset_t>> buckets(keys);
    for (std::size_t p = 0; p < row_of_.size(); ++p) {
      const int kept = m_.row_of_col[at(col_of(p))] == row_of_[p] ? 1 : 0;
      buckets[at(std::min(keys - 1, gain_[p] + kept))].push_back(static_cast<offset_t>(p));
    }
    m_ = pairs(a_.n_rows);
    for (std::size_t b = keys; b-- > 0;) {
      for (const offset_t p : buckets[b]) {
        if (is_open(at(p))) m_.match(row_of_[at(p)], col_of(at(p)));
      }
    }
  }

  // Exchanges, then the gains; the number of symmetric entries. In the first pass all positions
  // are tried, then those next to an exchange.
  offset_t improve() {
    std::ranges::fill(changed_, 1);
    offset_t sum = find_gains();
    for (int pass = 0; pass < most_passes && sum < most_symmetric(); ++pass) {
      tried_ = changed_;
      std::ranges::fill(changed_, 0);
      if (exchange() == 0) break;
      sum = find_gains();
    }
    return sum;
  }
  [[nodiscard]] offset_t most_symmetric() const { return a_.nnz() - a_.n_rows; }

  // The symmetric entries of row i at position j, not counting those with position k.
  offset_t gain_at(index_t i, index_t j, index_t k) {
    for (const index_t c : a_.row(i)) mark_[at(c)] = i;
    offset_t sum = 0;
    for (const index_t r : t_.row(j)) {
      const index_t c = m_.col_of_row[at(r)];
      sum += static_cast<offset_t>(c != -1 && c != j && c != k && mark_[at(c)] == i);
    }
    for (const index_t c : a_.row(i)) mark_[at(c)] = -1;
    return sum;
  }

  // Rows i at j and r at k change places where entries (i, k) and (r, j) allow it: before and
  // afterwards these four entries are symmetric or on the diagonal.
  offset_t exchange() {
    offset_t exchanges = 0;
    for (std::size_t p = 0; p < row_of_.size(); ++p) {
      const index_t i = row_of_[p];
      const index_t j = m_.col_of_row[at(i)];
      const index_t k = col_of(p);
      const index_t r = m_.row_of_col[at(k)];
      if (j == -1 || r == -1 || r == i || tried_[at(j)] == 0) continue;
      if (is_long(a_.row(i)) || is_long(a_.row(r)) || is_long(t_.row(j)) || is_long(t_.row(k)))
        continue;
      if (!std::ranges::binary_search(candidates_.row(r), j)) continue;
      if (gain_at(r, j, k) + gain_at(i, k, j) > gain_at(i, j, k) + gain_at(r, k, j)) {
        m_.match(r, j);
        m_.match(i, k);
        ++exchanges;
        for (const index_t row : {i, r}) {
          for (const index_t c : a_.row(row)) changed_[at(c)] = 1;
        }
      }
    }
    return exchanges;
  }

  const std::atomic<bool>* stop_;
  const pattern_view& a_;
  const pattern_view& t_;
  const pattern_view& candidates_;
  pairs m_;
  const offset_t limit_;
  std::vector<index_t> row_of_;                // of each candidate
  std::vector<std::uint16_t> gain_;            // of each candidate; at most limit_
  std::vector<std::uint8_t> key_;              // of each candidate, without gains
  std::vector<index_t> mark_;                  // -1 between uses
  std::vector<std::uint8_t> tried_, changed_;  // positions
};

}  // namespace

pairs search_symmetric(const pattern_view& a, const pattern_view& t,
                       const std::atomic<bool>* stop) {
  pairs forced(a.n_rows);
  match_forced(a, t, forced);
  return is_perfect(forced) ? forced : search(a, t, a, std::move(forced), stop).matching();
}

pairs more_symmetric(const pattern_view& a, const pattern_view& t, const pattern_view& allowed,
                     pairs first) {
  pairs forced(a.n_rows);
  match_forced(allowed, transpose(allowed), forced);
  if (is_perfect(forced)) return first;
  const offset_t count = count_symmetric(a, t, first.row_of_col, first.col_of_row);
  if (count == a.nnz() - a.n_rows) return first;
  pairs second = search(a, t, allowed, std::move(forced)).matching();
  const bool gains = count_symmetric(a, t, second.row_of_col, second.col_of_row) > count;
  return gains ? second : first;
}

}  // namespace gsofa::matchings
