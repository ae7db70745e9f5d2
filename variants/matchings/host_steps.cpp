#include <algorithm>
#include <limits>
#include <utility>

#include "common/matching.hpp"
#include "common/parallel.hpp"
#include "variants/matchings/symmetric_search.hpp"

namespace gsofa::matchings {

namespace {

constexpr std::size_t least_shared_matches = 256;  // matches of a round that occupy several threads
constexpr offset_t nobody = std::numeric_limits<offset_t>::max();

void check_stop(const std::atomic<bool>* stop) {
  if (stop != nullptr && stop->load(std::memory_order_relaxed)) throw cancelled_error();
}

void raise(std::uint16_t& gain, int threads) {
  if (threads == 1) {
    ++gain;
  } else {
    std::atomic_ref(gain).fetch_add(1, std::memory_order_relaxed);
  }
}

// The candidates of a round: each of its row and column keeps the least.
struct contest {
  std::vector<offset_t> row, col;
  explicit contest(index_t n) : row(at(n), nobody), col(at(n), nobody) {}
};

}  // namespace

host_steps::host_steps(const search_input& in, int threads, const std::atomic<bool>* stop)
    : in_(in), threads_(std::max(threads, 1)), stop_(stop), mark_(at(threads_)) {
  for (std::vector<index_t>& mark : mark_) mark.assign(at(in.a.n_cols), -1);
}

agreement host_steps::refine_colours(const pairs& m) {
  return matchings::refine_colours(in_.a, in_.t, in_.candidates, m, threads_);
}

std::vector<std::uint16_t> host_steps::gains(const pairs& m) {
  std::vector<std::uint16_t> gain(in_.row_of.size(), 0);
  parallel_ranges(threads_, in_.a.n_cols, index_t{256},
                  [&](int thread, index_t begin, index_t end) {
                    check_stop(stop_);
                    for (index_t c = begin; c < end; ++c) {
                      if (m.row_of_col[at(c)] == -1) continue;
                      in_.give_gains(m.row_of_col[at(c)], c, mark_[at(thread)],
                                     [&](std::size_t e) { raise(gain[e], threads_); });
                    }
                  });
  return gain;
}

// An entry is in the bucket of its key, and in some that it has left.
void host_steps::match_greedily(std::span<const std::uint16_t> keys, pairs& m) {
  std::vector<std::uint16_t> gain = gains(m);
  const auto key = [&](std::size_t p) { return at(key_with(keys[p], gain[p])); };
  const auto is_open = [&](std::size_t p) {
    return m.col_of_row[at(in_.row_of[p])] == -1 && m.row_of_col[at(in_.col_of(p))] == -1;
  };
  std::vector<std::vector<offset_t>> buckets(2 * search_steps::keys);
  for (std::size_t p = keys.size(); p-- > 0;) {
    if (is_open(p)) buckets[key(p)].push_back(static_cast<offset_t>(p));
  }
  contest least(in_.a.n_rows);
  std::vector<offset_t> open, matched;
  std::vector<std::uint32_t> raised(keys.size(), 0);  // the last round that raised the gain
  std::vector<std::vector<offset_t>> raised_by(at(threads_));
  std::uint32_t round = 0;
  for (std::size_t b = buckets.size(); b-- > 0;) {
    while (!buckets[b].empty()) {
      check_stop(stop_);
      ++round;
      open.clear();
      matched.clear();
      offset_t seed = nobody;
      for (const offset_t p : std::exchange(buckets[b], {})) {
        if (key(at(p)) != b || !is_open(at(p))) continue;
        open.push_back(p);
        if (gain[at(p)] == 0) {
          seed = std::min(seed, p);
          continue;
        }
        offset_t& row = least.row[at(in_.row_of[at(p)])];
        offset_t& col = least.col[at(in_.col_of(at(p)))];
        row = std::min(row, p);
        col = std::min(col, p);
      }
      for (const offset_t p : open) {
        const bool is_least =
            least.row[at(in_.row_of[at(p)])] == p && least.col[at(in_.col_of(at(p)))] == p;
        if (is_least) matched.push_back(p);
      }
      for (const offset_t p : open) {
        least.row[at(in_.row_of[at(p)])] = least.col[at(in_.col_of(at(p)))] = nobody;
      }
      if (matched.empty() && seed != nobody) matched.push_back(seed);
      for (const offset_t p : matched) m.match(in_.row_of[at(p)], in_.col_of(at(p)));
      for (const offset_t p : open) {
        if (is_open(at(p))) buckets[b].push_back(p);
      }
      const int threads = matched.size() < least_shared_matches ? 1 : threads_;
      parallel_ranges(
          threads, matched.size(), std::size_t{32},
          [&](int thread, std::size_t begin, std::size_t end) {
            for (; begin < end; ++begin) {
              const std::size_t p = at(matched[begin]);
              in_.give_gains(in_.row_of[p], in_.col_of(p), mark_[at(thread)], [&](std::size_t e) {
                if (!is_open(e)) return;
                raise(gain[e], threads);
                if (std::atomic_ref(raised[e]).exchange(round, std::memory_order_relaxed) != round)
                  raised_by[at(thread)].push_back(static_cast<offset_t>(e));
              });
            }
          });
      std::size_t top = b;
      for (std::vector<offset_t>& entries : raised_by) {
        for (const offset_t e : entries) {
          buckets[key(at(e))].push_back(e);
          top = std::max(top, key(at(e)));
        }
        entries.clear();
      }
      b = top;
    }
  }
}

}  // namespace gsofa::matchings
