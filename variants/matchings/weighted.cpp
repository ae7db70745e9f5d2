// A matching of maximum cardinality with the largest product of magnitudes, and its scales, which
// option 5 of MC64 computes, too (Duff & Koster, SIAM J. Matrix Anal. Appl. 22(4), 2001): the
// Hungarian method with all unmatched rows at once (Kuhn 1955; Hopcroft & Karp 1973), in integers.
//
// With costs c(i,j) >= 0 (matching.hpp) the product is largest where the sum of the matched costs
// is least. u_i + v_j <= c(i,j) holds throughout, with equality on matched entries ("tight"). A
// phase
//   1. finds the distances of columns from the nearest unmatched row along alternating paths by
//      reduced costs c(i,j) - u_i - v_j, nearer columns first (Davidson et al. 2014), until there
//      are three unmatched columns for four unmatched rows;
//   2. adds them to the duals, so that the entries of shortest paths become tight;
//   3. augments along disjoint paths of tight entries: a tree grows from each unmatched row.
// Every other phase exchanges rows and columns. After the phases, the tight entries hold all
// optimal matchings: among these one with many symmetric entries is searched
// (symmetric_search.hpp).
//
// Distances are minima of integers, and a column that several trees claim goes to the least claim,
// a hash: neither depends on the order of the threads. gpu_weighted.cu has the same phases and
// finds the same matching and duals. A structurally singular matrix, and one whose zeros make it
// so, gets a matching of maximum cardinality without duals. Each phase matches at least one row; it
// takes O(nnz) for each step of a search.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/matching.hpp"
#include "common/parallel.hpp"
#include "common/random.hpp"
#include "variants/matchings/symmetric_search.hpp"

namespace gsofa::matchings {

namespace {

constexpr std::uint64_t unreached = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t growth = 2;                        // of the bound of near columns
constexpr std::uint64_t is_open = std::uint64_t{1} << 63;  // a claim of the level at work
constexpr std::size_t near = 8, far = 16;                  // lines ahead that are prefetched
constexpr std::size_t least_shared = 512;                  // lines that occupy several threads

// A row or a column; searches read records at random.
struct line {
  std::int64_t dual = 0;
  std::uint64_t word = unreached;  // distance, or claim: a hash above the row that claims
  index_t partner = -1;
  std::uint32_t listed = 0;  // the last step that lists the row
  index_t root = -1;         // of the row's tree
  index_t end = -1;          // of the tree of this root: its least unmatched column
};

struct candidate {
  index_t line;
  std::int64_t cost;
};

// The candidates of each row, or of each column, in any order.
struct candidate_lists {
  std::span<const offset_t> begin;
  std::vector<offset_t> end;
  std::unique_ptr<candidate[]> all;

  explicit candidate_lists(const pattern_view& a)
      : begin(a.row_ptr),
        end(begin.begin(), begin.end()),
        all(std::make_unique_for_overwrite<candidate[]>(at(a.nnz()))) {}
  [[nodiscard]] std::span<const candidate> of(index_t i) const {
    return {all.get() + begin[at(i)], all.get() + end[at(i)]};
  }
};

// The lines that a thread adds to the next list, and those whose words it sets first.
struct alignas(64) additions {
  std::vector<index_t> next, touched;
};

void join(std::vector<index_t>& to, std::vector<index_t>& from) {
  to.insert(to.end(), from.begin(), from.end());
  from.clear();
}

class assignment {
 public:
  assignment(const matching_input& input, int threads)
      : input_(input), threads_(threads), kept_(threads), added_(at(threads)) {
    lists_[0].emplace(input.a);
    lines_[0].resize(at(input.a.n_rows));
    lines_[1].resize(at(input.a.n_cols));
  }

  row_matching solve() {
    start();
    while (!free_rows().empty() && augment()) {
    }
    for (; !free_rows().empty(); exchange_sides()) {
      if (!shorten()) break;
      augment();
    }
    return result();
  }

 private:
  // Searches go from the lines of a side, "rows", to those of the other, "columns".
  std::vector<line>& rows() { return lines_[side_]; }
  std::vector<line>& cols() { return lines_[1 - side_]; }
  std::vector<index_t>& free_rows() { return free_[side_]; }

  void exchange_sides() {
    side_ = 1 - side_;
    if (!lists_[side_]) make_column_lists();
  }

  // u_i = min_j c(i,j), v_j = min_i c(i,j) - u_i. Tight diagonal entries are matched.
  void start() {
    alone_ = threads_ == 1;
    for (line& col : lines_[1]) col.dual = no_candidate;
    each_row([&](index_t i) { start_row(i); });
    for (line& col : lines_[1]) col.dual = col.dual == no_candidate ? 0 : col.dual;
    each_row([&](index_t i) {
      for (const auto& [j, cost] : lists_[0]->of(i)) {
        if (i == j && cost == lines_[0][at(i)].dual + lines_[1][at(j)].dual) match(i, j);
      }
    });
    for (const int side : {0, 1}) {
      for (std::size_t k = 0; k < lines_[side].size(); ++k) {
        if (lines_[side][k].partner == -1) free_[side].push_back(static_cast<index_t>(k));
      }
    }
  }
  void start_row(index_t i) {
    const matching_costs& costs = *input_.costs;
    const pattern_view& a = input_.a;
    std::int64_t least = no_candidate;
    offset_t& end = lists_[0]->end[at(i)];
    for (auto p = at(a.row_ptr[at(i)]); p < at(a.row_ptr[at(i) + 1]); ++p) {
      if (costs.cost[p] == no_candidate) continue;
      const index_t j = a.col_idx[p];
      const std::int64_t cost = costs.cost[p] - costs.column_log[at(j)];
      lists_[0]->all[at(end++)] = {j, cost};
      least = std::min(least, cost);
    }
    lines_[0][at(i)].dual = least == no_candidate ? 0 : least;
    for (const auto& [j, cost] : lists_[0]->of(i)) lower(lines_[1][at(j)].dual, cost - least);
  }

  void make_column_lists() {
    lists_[1].emplace(input_.t);
    each_row([&](index_t i) {
      for (const auto& [j, cost] : lists_[0]->of(i)) {
        offset_t& end = lists_[1]->end[at(j)];
        const offset_t place =
            threads_ == 1 ? end++ : std::atomic_ref(end).fetch_add(1, std::memory_order_relaxed);
        lists_[1]->all[at(place)] = {i, cost};
      }
    });
  }

  template <class Action>
  void each_row(const Action& action) {
    parallel_ranges(threads_, input_.a.n_rows, index_t{4096}, [&](int, index_t i, index_t end) {
      for (; i < end; ++i) action(i);
    });
  }

  void match(index_t row, index_t col) {
    rows()[at(row)].partner = col;
    cols()[at(col)].partner = row;
  }

  // action(line, additions) for the rows or columns of a list, on all threads if there are many;
  // `alone_` says whether this thread is the only one. Then joins what they add.
  template <class Action>
  void each_row_of(const std::vector<index_t>& list, const Action& action) {
    each(list, action, [&](std::size_t k) { prefetch(list[k + far], list[k + near]); });
  }
  template <class Action>
  void each_column_of(const std::vector<index_t>& list, const Action& action) {
    each(list, action,
         [&](std::size_t k) { __builtin_prefetch(&lines_[1 - side_][at(list[k + far])]); });
  }
  template <class Action, class Prefetch>
  void each(const std::vector<index_t>& list, const Action& action, const Prefetch& prefetch_at) {
    alone_ = threads_ == 1 || list.size() < least_shared;
    const auto act = [&](std::size_t k, std::size_t end, additions& added) {
      for (; k < end; ++k) {
        if (k + far < list.size()) prefetch_at(k);
        action(list[k], added);
      }
    };
    if (alone_) {
      act(0, list.size(), added_[0]);
    } else {
      parallel_ranges(threads_, list.size(), std::size_t{128},
                      [&](int thread, std::size_t begin, std::size_t end) {
                        act(begin, end, added_[at(thread)]);
                      });
    }
    next_.clear();
    for (additions& thread : added_) {
      join(next_, thread.next);
      join(touched_, thread.touched);
    }
  }

  // Lists name lines at random: their records, and what these refer to, come to the cache ahead.
  void prefetch(index_t record, index_t line) const {
    __builtin_prefetch(&lines_[side_][at(record)]);
    __builtin_prefetch(&lists_[side_]->begin[at(record)]);
    __builtin_prefetch(lists_[side_]->all.get() + lists_[side_]->begin[at(line)]);
  }

  // Lowers a word to `to` if that is less; the value before.
  template <class Word>
  Word lower(Word& word, Word to) const {
    if (alone_) return to < word ? std::exchange(word, to) : word;
    const std::atomic_ref shared(word);
    Word old = shared.load(std::memory_order_relaxed);
    while (to < old && !shared.compare_exchange_weak(old, to, std::memory_order_relaxed)) {
    }
    return old;
  }
  template <class Word>
  Word read(Word& word) const {
    return alone_ ? word : std::atomic_ref(word).load(std::memory_order_relaxed);
  }
  // Adds a row to the next list, once.
  void list_row(index_t i, additions& added) {
    std::uint32_t& listed = rows()[at(i)].listed;
    const std::uint32_t old =
        alone_ ? std::exchange(listed, step_)
               : std::atomic_ref(listed).exchange(step_, std::memory_order_relaxed);
    if (old != step_) added.next.push_back(i);
  }

  [[nodiscard]] std::uint64_t distance_of_row(const line& row) {
    return row.partner == -1 ? 0 : read(cols()[at(row.partner)].word);
  }

  void shorten_from(index_t i, std::uint64_t bound, additions& added) {
    const line& row = rows()[at(i)];
    const std::uint64_t begin = distance_of_row(row);
    for (const auto& [j, cost] : lists_[side_]->of(i)) {
      line& col = cols()[at(j)];
      const std::uint64_t mine = begin + static_cast<std::uint64_t>(cost - row.dual - col.dual);
      if (mine >= read(col.word) || mine > read(farthest_)) continue;
      const std::uint64_t old = lower(col.word, mine);
      if (old <= mine) continue;
      if (old == unreached) added.touched.push_back(j);
      if (only_nearest_ && col.partner == -1) lower(farthest_, mine);
      if (mine < bound && col.partner != -1) list_row(col.partner, added);
    }
  }

  // Phases 1 and 2. False if no unmatched column is reached.
  bool shorten() {
    const std::size_t enough = free_rows().size() - free_rows().size() / 4;
    std::vector<std::uint64_t> found;  // distances of unmatched columns
    std::vector<index_t> list = free_rows(), settled;
    farthest_ = unreached;
    only_nearest_ = enough == 1;
    for (std::uint64_t bound = 1, least_far = 0; least_far != unreached;) {
      while (!list.empty()) {
        ++step_;
        each_row_of(list, [&](index_t i, additions& added) { shorten_from(i, bound, added); });
        list.swap(next_);
      }
      least_far = settle_below(bound, settled, found);
      if (found.size() >= enough) break;
      bound = least_far < unreached / growth ? growth * least_far : unreached;
      each_column_of(touched_, [&](index_t j, additions& added) {
        const line& col = cols()[at(j)];
        if (col.word < bound && col.partner != -1) added.next.push_back(col.partner);
      });
      list.swap(next_);
    }
    if (!found.empty()) {
      const std::size_t last = std::min(enough, found.size()) - 1;
      std::ranges::nth_element(found, found.begin() + static_cast<std::ptrdiff_t>(last));
      add_bound(found[last], bounds_);
      move_duals(static_cast<std::int64_t>(found[last]), settled);
    }
    forget(settled);
    forget(touched_);
    return !found.empty();
  }

  // Moves the columns below the bound, whose distances are final, from touched_ to `settled`, and
  // the distances of the unmatched ones to `found`; the least distance of the others.
  std::uint64_t settle_below(std::uint64_t bound, std::vector<index_t>& settled,
                             std::vector<std::uint64_t>& found) {
    std::uint64_t least_far = unreached;
    std::size_t kept = 0;
    for (std::size_t k = 0; k < touched_.size(); ++k) {
      if (k + far < touched_.size()) __builtin_prefetch(&cols()[at(touched_[k + far])]);
      const index_t j = touched_[k];
      const line& col = cols()[at(j)];
      if (col.word >= bound) {
        least_far = std::min(least_far, col.word);
        touched_[kept++] = j;
      } else {
        settled.push_back(j);
        if (col.partner == -1) found.push_back(col.word);
      }
    }
    touched_.resize(kept);
    return least_far;
  }

  void move_duals(std::int64_t bound, const std::vector<index_t>& settled) {
    for (const index_t i : free_rows()) rows()[at(i)].dual += bound;
    each_column_of(settled, [&](index_t j, additions&) {
      line& col = cols()[at(j)];
      if (col.word >= static_cast<std::uint64_t>(bound)) return;
      const std::int64_t slack = bound - static_cast<std::int64_t>(col.word);
      col.dual -= slack;
      if (col.partner != -1) rows()[at(col.partner)].dual += slack;
    });
  }

  void forget(std::vector<index_t>& columns) {
    each_column_of(columns, [&](index_t j, additions&) { cols()[at(j)].word = unreached; });
    columns.clear();
  }

  // A claim's hash differs for rows with the same columns.
  static std::uint64_t claim_of(index_t row, index_t col) {
    const std::uint64_t pair =
        static_cast<std::uint64_t>(row) << 32 | static_cast<std::uint32_t>(col);
    return (mix64(pair) | is_open) >> 32 << 32 | static_cast<std::uint32_t>(row);
  }

  void claim(index_t i, additions& added) {
    const line& row = rows()[at(i)];
    if (rows()[at(row.root)].end != -1) return;
    for (const auto& [j, cost] : lists_[side_]->of(i)) {
      line& col = cols()[at(j)];
      if (cost != row.dual + col.dual || (read(col.word) & is_open) == 0) continue;
      if (lower(col.word, claim_of(i, j)) == unreached) added.touched.push_back(j);
    }
  }

  // A claimed column joins its row's tree, which ends if the column is unmatched.
  void settle(index_t j, additions& added) {
    line& col = cols()[at(j)];
    const auto from = static_cast<index_t>(col.word & 0xffffffffU);
    col.word = static_cast<std::uint64_t>(from);
    const index_t root = rows()[at(from)].root;
    if (col.partner != -1) {
      rows()[at(col.partner)].root = root;
      added.next.push_back(col.partner);
      return;
    }
    // -1 is the largest.
    auto& end = reinterpret_cast<std::uint32_t&>(rows()[at(root)].end);
    lower(end, static_cast<std::uint32_t>(j));
  }

  // Phase 3; the number of paths.
  std::size_t augment() {
    std::vector<index_t> list = free_rows();
    for (const index_t i : list) {
      rows()[at(i)].root = i;
      rows()[at(i)].end = -1;
    }
    while (!list.empty()) {
      const auto settled = static_cast<std::ptrdiff_t>(touched_.size());
      each_row_of(list, [&](index_t i, additions& added) { claim(i, added); });
      const std::vector<index_t> claimed(touched_.begin() + settled, touched_.end());
      each_column_of(claimed, [&](index_t j, additions& added) { settle(j, added); });
      list.swap(next_);
    }
    const std::size_t before = free_rows().size();
    for (const index_t root : free_rows()) {
      for (index_t col = rows()[at(root)].end; col != -1;) {
        const auto row = static_cast<index_t>(cols()[at(col)].word);
        const index_t last = rows()[at(row)].partner;
        match(row, col);
        col = last;
      }
    }
    forget(touched_);
    for (const int side : {0, 1}) {
      std::erase_if(free_[side], [&](index_t k) { return lines_[side][at(k)].partner != -1; });
    }
    return before - free_rows().size();
  }

  row_matching result() const {
    row_matching out;
    for (const line& col : lines_[1]) out.row_of_col.push_back(col.partner);
    if (!free_[0].empty()) return out;
    for (const line& row : lines_[0]) out.row_dual.push_back(row.dual);
    for (std::size_t j = 0; j < lines_[1].size(); ++j) {
      out.col_dual.push_back(lines_[1][j].dual + input_.costs->column_log[j]);
    }
    return out;
  }

  const matching_input& input_;
  const int threads_;
  const kept_threads kept_;
  int side_ = 0;  // from rows to columns; 1: the other way
  std::vector<line> lines_[2];
  std::optional<candidate_lists> lists_[2];
  std::vector<index_t> free_[2];
  // Of the current search.
  std::uint32_t step_ = 0;
  bool alone_ = true;
  std::uint64_t bounds_ = 0;  // the sum of those of all phases
  bool only_nearest_ = false;
  std::uint64_t farthest_ = unreached;   // no distance beyond it is searched
  std::vector<additions> added_;         // by thread
  std::vector<index_t> next_, touched_;  // rows of the next step; columns with words
};

row_matching weighted(const matching_input& input, const matching_settings& settings) {
  row_matching m = assignment(input, std::max(settings.threads, 1)).solve();
  prefer_symmetric(input, settings, m);
  return m;
}

}  // namespace

GSOFA_REGISTER_MATCHING({
    .name = "weighted",
    .summary = "the largest product of magnitudes, exact, with scales; prefers symmetric entries",
    .citation = "Duff & Koster 2001; Kuhn 1955; Hopcroft & Karp 1973",
    .needs_values = true,
    .options = {symmetric_option()},
    .compute = weighted,
});

}  // namespace gsofa::matchings
