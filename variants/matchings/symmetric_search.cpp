#include "variants/matchings/symmetric_search.hpp"

#include <algorithm>
#include <utility>

#include "common/ordering.hpp"
#include "common/parallel.hpp"

namespace gsofa::matchings {

namespace {

constexpr int most_passes = 20;     // of exchanges
constexpr int most_rematches = 10;  // of step 6
constexpr int least_gain = 200;     // step 6 ends when a round adds less than 1/200

bool is_perfect(const pairs& m) {
  return std::ranges::find(m.row_of_col, -1) == m.row_of_col.end();
}

// The deepest agreement of each line, and how many entries have it, up to 3.
struct deepest {
  std::vector<std::uint8_t> depth, count;
  explicit deepest(index_t n) : depth(at(n), 0), count(at(n), 0) {}
  void add(index_t v, std::uint8_t d) {
    if (d > depth[at(v)]) count[at(v)] = 0;
    if (d >= depth[at(v)]) count[at(v)] = static_cast<std::uint8_t>(std::min(3, count[at(v)] + 1));
    depth[at(v)] = std::max(depth[at(v)], d);
  }
  // 2: no other entry of the line agrees as long; 1: one other entry; 0: more.
  [[nodiscard]] int rarity(index_t v, std::uint8_t d) const {
    return d > 0 && depth[at(v)] == d ? 3 - count[at(v)] : 0;
  }
};

class search {
 public:
  search(const search_input& in, search_steps& steps, int threads, pairs forced)
      : in_(in),
        steps_(steps),
        threads_(std::max(threads, 1)),
        m_(std::move(forced)),
        mark_(at(in.a.n_cols), -1),
        changed_(at(in.a.n_cols), 1) {}

  pairs matching() {
    const std::vector<std::uint16_t> keys = match_unique(steps_.refine_colours(m_));
    if (!is_perfect(m_)) steps_.match_greedily(keys, m_);
    augment(in_.candidates, m_);
    offset_t best = improve();
    for (int round = 0; round < most_rematches && best < most_symmetric(); ++round) {
      pairs last = m_;
      match_by_gains();
      augment(in_.candidates, m_);
      const offset_t before = std::exchange(best, improve());
      if (best <= before) return last;
      if (best - before < before / least_gain) break;
    }
    return m_;
  }

 private:
  [[nodiscard]] bool is_open(std::size_t p) const {
    return m_.col_of_row[at(in_.row_of[p])] == -1 && m_.row_of_col[at(in_.col_of(p))] == -1;
  }
  [[nodiscard]] bool is_matched(std::size_t p) const {
    return m_.row_of_col[at(in_.col_of(p))] == in_.row_of[p];
  }
  [[nodiscard]] offset_t most_symmetric() const { return in_.a.nnz() - in_.a.n_rows; }

  // Returns the keys of the candidates, without gains.
  std::vector<std::uint16_t> match_unique(const agreement& agrees) {
    deepest rows(in_.a.n_rows), cols(in_.a.n_cols);
    for (std::size_t p = 0; p < in_.row_of.size(); ++p) {
      rows.add(in_.row_of[p], agrees.depth[p]);
      cols.add(in_.col_of(p), agrees.depth[p]);
    }
    std::vector<std::uint16_t> keys(in_.row_of.size());
    for (std::size_t p = 0; p < in_.row_of.size(); ++p) {
      const std::uint8_t d = agrees.depth[p];
      const int rarity = std::min(rows.rarity(in_.row_of[p], d), cols.rarity(in_.col_of(p), d));
      const bool in_all_rounds = d == agrees.rounds;
      keys[p] = static_cast<std::uint16_t>(d + rarity + (in_all_rounds ? search_steps::half : 0));
      if (is_open(p) && rarity == 2 && in_all_rounds) m_.match(in_.row_of[p], in_.col_of(p));
    }
    return keys;
  }

  // By descending gain; a matched entry counts one more than its gain. Ties by number.
  void match_by_gains() {
    constexpr std::size_t most = 512;
    std::vector<std::vector<offset_t>> buckets(most);
    for (std::size_t p = 0; p < gain_.size(); ++p) {
      const std::size_t gain = gain_[p] + (is_matched(p) ? 1U : 0U);
      buckets[std::min(most - 1, gain)].push_back(static_cast<offset_t>(p));
    }
    m_ = pairs(in_.a.n_rows);
    for (std::size_t b = most; b-- > 0;) {
      for (const offset_t p : buckets[b]) {
        if (is_open(at(p))) m_.match(in_.row_of[at(p)], in_.col_of(at(p)));
      }
    }
  }

  [[nodiscard]] offset_t symmetric_entries() const {
    offset_t sum = 0;
    for (std::size_t p = 0; p < gain_.size(); ++p) {
      if (is_matched(p)) sum += gain_[p];
    }
    return sum;
  }

  // Exchanges; the number of symmetric entries. In the first pass all positions are tried, then
  // those next to an exchange.
  offset_t improve() {
    std::ranges::fill(changed_, 1);
    gain_ = steps_.gains(m_);
    for (int pass = 0; pass < most_passes && symmetric_entries() < most_symmetric(); ++pass) {
      if (exchange() == 0) break;
    }
    return symmetric_entries();
  }

  // The matched entry of a row.
  [[nodiscard]] std::size_t matched_entry(index_t row) const {
    return entry(row, m_.col_of_row[at(row)]);
  }
  // The candidate in a row and column; nnz: there is none.
  [[nodiscard]] std::size_t entry(index_t row, index_t col) const {
    const auto line = in_.candidates.row(row);
    const auto found = std::ranges::lower_bound(line, col);
    if (found == line.end() || *found != col) return gain_.size();
    return at(in_.candidates.row_ptr[at(row)] + (found - line.begin()));
  }

  // Rows i at j and r at k change places where entries p = (i, k) and (r, j) allow it: before and
  // afterwards these four entries are symmetric or on the diagonal.
  [[nodiscard]] bool gains_by_exchange(std::size_t p) const {
    const index_t i = in_.row_of[p], k = in_.col_of(p);
    const index_t j = m_.col_of_row[at(i)], r = m_.row_of_col[at(k)];
    if (j == -1 || r == -1 || r == i) return false;
    if (in_.is_long(in_.a.row(i)) || in_.is_long(in_.a.row(r)) || in_.is_long(in_.t.row(j)) ||
        in_.is_long(in_.t.row(k)))
      return false;
    const std::size_t other = entry(r, j);
    return other < gain_.size() &&
           gain_[p] + gain_[other] + 2 > gain_[matched_entry(i)] + gain_[matched_entry(r)];
  }

  std::vector<offset_t> gainful_exchanges() {
    std::vector<std::vector<offset_t>> found(at(threads_));
    parallel_ranges(threads_, gain_.size(), std::size_t{4096},
                    [&](int thread, std::size_t begin, std::size_t end) {
                      for (; begin < end; ++begin) {
                        const index_t j = m_.col_of_row[at(in_.row_of[begin])];
                        if (j != -1 && changed_[at(j)] != 0 && gains_by_exchange(begin))
                          found[at(thread)].push_back(static_cast<offset_t>(begin));
                      }
                    });
    for (std::size_t k = 1; k < found.size(); ++k) {
      found[0].insert(found[0].end(), found[k].begin(), found[k].end());
    }
    std::ranges::sort(found[0]);
    return std::move(found[0]);
  }

  // Exchanges that gain before the pass, in order, if they still do; their number.
  offset_t exchange() {
    const std::vector<offset_t> gainful = gainful_exchanges();
    std::ranges::fill(changed_, 0);
    offset_t exchanges = 0;
    for (const offset_t p : gainful) {
      if (!gains_by_exchange(at(p))) continue;
      const index_t i = in_.row_of[at(p)], k = in_.col_of(at(p));
      const index_t j = m_.col_of_row[at(i)], r = m_.row_of_col[at(k)];
      give(i, j, -1);
      give(r, k, -1);
      m_.match(r, j);
      m_.match(i, k);
      give(r, j, 1);
      give(i, k, 1);
      ++exchanges;
      for (const index_t row : {i, r}) {
        for (const index_t c : in_.a.row(row)) changed_[at(c)] = 1;
      }
    }
    return exchanges;
  }
  void give(index_t row, index_t col, int change) {
    in_.give_gains(row, col, mark_, [&](std::size_t e) {
      gain_[e] = static_cast<std::uint16_t>(gain_[e] + change);
    });
  }

  const search_input& in_;
  search_steps& steps_;
  const int threads_;
  pairs m_;
  std::vector<std::uint16_t> gain_;    // of each candidate, by the matching
  std::vector<index_t> mark_;          // -1 between uses
  std::vector<std::uint8_t> changed_;  // positions
};

// The entries whose cost is the sum of their duals.
pattern tight_entries(const matching_input& input, const row_matching& m) {
  const pattern_view& a = input.a;
  pattern out{a.n_rows, a.n_cols, {0}, {}};
  for (index_t i = 0; i < a.n_rows; ++i) {
    for (auto p = at(a.row_ptr[at(i)]); p < at(a.row_ptr[at(i) + 1]); ++p) {
      const index_t j = a.col_idx[p];
      if (input.costs->cost[p] == m.row_dual[at(i)] + m.col_dual[at(j)]) out.col_idx.push_back(j);
    }
    out.row_ptr.push_back(static_cast<offset_t>(out.col_idx.size()));
  }
  return out;
}

}  // namespace

search_input::search_input(const pattern_view& pattern, const pattern_view& transposed,
                           const pattern_view& allowed)
    : a(pattern),
      t(transposed),
      candidates(allowed),
      limit(std::clamp<offset_t>(4 * (a.nnz() / std::max<offset_t>(a.n_rows, 1)), 64, 1 << 15)) {
  row_of.reserve(at(candidates.nnz()));
  for (index_t i = 0; i < a.n_rows; ++i) row_of.resize(at(candidates.row_ptr[at(i) + 1]), i);
}

row_matching symmetric_matching(const matching_input& input, const matching_settings& settings) {
  const auto& [a, t, costs] = input;
  row_matching out;
  if (count_missing_diagonal(a) == 0 && std::ranges::equal(a.row_ptr, t.row_ptr) &&
      std::ranges::equal(a.col_idx, t.col_idx)) {
    out.row_of_col = identity_order(a.n_rows);
    return out;
  }
  pairs m(a.n_rows);
  match_forced(a, t, m);
  if (!is_perfect(m)) {
    const search_input in(a, t, a);
    search_steps steps(in, settings.threads, settings.stop);
    m = search(in, steps, settings.threads, std::move(m)).matching();
  }
  out.row_of_col = std::move(m.row_of_col);
  return out;
}

void add_bound(std::uint64_t bound, std::uint64_t& sum) {
  constexpr std::uint64_t most = std::uint64_t{1} << 60;
  if (bound > most - sum) throw overflow_error("matching: the duals exceed 64 bits");
  sum += bound;
}

option_spec symmetric_option() {
  return {.name = "symmetric",
          .default_value = true,
          .help = "search the matchings of the least costs for one with more symmetric entries"};
}

void prefer_symmetric(const matching_input& input, const matching_settings& settings,
                      row_matching& m) {
  if (m.row_dual.empty() || m.most_slack > 0 || !settings.options.flag("symmetric")) return;
  const pattern tight = tight_entries(input, m);
  const pattern_view allowed = tight;
  pairs first(input.a.n_rows), forced(input.a.n_rows);
  for (index_t j = 0; j < input.a.n_cols; ++j) first.match(m.row_of_col[at(j)], j);
  match_forced(allowed, transpose(allowed), forced);
  const auto symmetric = [&](const pairs& of) {
    return count_symmetric(input.a, input.t, of.row_of_col, of.col_of_row);
  };
  if (is_perfect(forced) || symmetric(first) == input.a.nnz() - input.a.n_rows) return;
  const search_input in(input.a, input.t, allowed);
  search_steps steps(in, settings.threads, settings.stop);
  pairs second = search(in, steps, settings.threads, std::move(forced)).matching();
  if (symmetric(second) > symmetric(first)) m.row_of_col = std::move(second.row_of_col);
}

}  // namespace gsofa::matchings
