#include <algorithm>
#include <limits>
#include <utility>

#include "common/matching.hpp"
#include "common/parallel.hpp"
#include "variants/matchings/symmetric_search.hpp"

namespace gsofa::matchings {

namespace {

constexpr std::size_t least_shared_matches = 256;  // matches of a round that occupy several threads
constexpr int gain_weight = 4;
constexpr int half = search_steps::half;
constexpr offset_t nobody = std::numeric_limits<offset_t>::max();

// The key of an entry with a gain, of its key without gains.
std::size_t key_with(int key, int gain) {
  const int least = key / half * half;
  return at(least + std::min(key - least + gain_weight * gain, half - 1));
}

// The width of the window of the k-th round without gains, from 0.
offset_t seeds_of(int k) { return offset_t{1} << std::min(k / 16, 40); }

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

}  // namespace

search_steps::search_steps(const search_input& in, int threads, const std::atomic<bool>* stop)
    : in_(in), threads_(std::max(threads, 1)), stop_(stop), mark_(at(threads_)) {
  for (std::vector<index_t>& mark : mark_) mark.assign(at(in.a.n_cols), -1);
}

agreement search_steps::refine_colours(const pairs& m) {
  return matchings::refine_colours(in_.a, in_.t, in_.candidates, m, threads_);
}

std::vector<std::uint16_t> search_steps::gains(const pairs& m) {
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

namespace {

// The entries of a key. `gainful` keeps entries whose key has grown since. The first next_seed
// seeds are matched or have a gain.
struct bucket {
  std::vector<offset_t> gainful, seeds;
  std::size_t next_seed = 0;
};

class greedy {
 public:
  greedy(const search_input& in, std::span<const std::uint16_t> keys,
         std::vector<std::uint16_t> gain, std::vector<std::vector<index_t>>& mark, pairs& m)
      : in_(in),
        keys_(keys),
        gain_(std::move(gain)),
        mark_(mark),
        m_(m),
        buckets_(2 * half),
        row_(at(in.a.n_rows), nobody),
        col_(at(in.a.n_cols), nobody),
        raised_(keys.size(), 0),
        raised_by_(mark.size()) {}

  void run(const std::atomic<bool>* stop) {
    for (std::size_t p = 0; p < keys_.size(); ++p) {
      if (!is_open(p)) continue;
      bucket& b = buckets_[key(p)];
      (gain_[p] > 0 ? b.gainful : b.seeds).push_back(static_cast<offset_t>(p));
    }
    for (std::size_t b = buckets_.size(); b-- > 0;) {
      while (choose(b)) {
        check_stop(stop);
        match_least();
        keep_open(buckets_[b].gainful);
        b = raise_gains(b);
      }
    }
  }

 private:
  [[nodiscard]] std::size_t key(std::size_t p) const { return key_with(keys_[p], gain_[p]); }
  [[nodiscard]] bool is_open(std::size_t p) const {
    return m_.col_of_row[at(in_.row_of[p])] == -1 && m_.row_of_col[at(in_.col_of(p))] == -1;
  }

  // The entries of the next round; false if the bucket has none.
  bool choose(std::size_t b) {
    open_.clear();
    for (const offset_t p : std::exchange(buckets_[b].gainful, {})) {
      if (key(at(p)) == b && is_open(at(p))) open_.push_back(p);
    }
    if (open_.empty()) choose_seeds(buckets_[b]);
    return !open_.empty();
  }
  void choose_seeds(bucket& b) {
    offset_t end = nobody;
    for (std::size_t k = b.next_seed; k < b.seeds.size() && b.seeds[k] < end; ++k) {
      const offset_t p = b.seeds[k];
      if (gain_[at(p)] > 0 || !is_open(at(p))) continue;
      if (open_.empty()) {
        b.next_seed = k;
        end = p + seeds_of(seed_rounds_++);
      }
      open_.push_back(p);
    }
    if (open_.empty()) b.next_seed = b.seeds.size();
  }

  // Matches the entries that are the least of the round in their row, their column and the rows
  // whose gains they change.
  void match_least() {
    for (const offset_t p : open_)
      claim(p, [](offset_t& least, offset_t entry) { least = std::min(least, entry); });
    matched_.clear();
    for (const offset_t p : open_) {
      if (row(p) == p && col(p) == p) matched_.push_back(p);
    }
    for (const offset_t p : open_) claim(p, [](offset_t& least, offset_t) { least = nobody; });
    for (const offset_t p : matched_) m_.match(in_.row_of[at(p)], in_.col_of(at(p)));
  }
  template <class Action>
  void claim(offset_t p, const Action& action) {
    action(row(p), p);
    action(col(p), p);
    const auto line = in_.t.row(in_.col_of(at(p)));
    if (in_.is_long(line)) return;
    for (const index_t i : line) action(row_[at(i)], p);
  }
  offset_t& row(offset_t p) { return row_[at(in_.row_of[at(p)])]; }
  offset_t& col(offset_t p) { return col_[at(in_.col_of(at(p)))]; }

  void keep_open(std::vector<offset_t>& gainful) {
    for (const offset_t p : open_) {
      if (gain_[at(p)] > 0 && is_open(at(p))) gainful.push_back(p);
    }
  }

  // Raises the gains that the matches of the round give; the highest bucket that has entries now.
  std::size_t raise_gains(std::size_t b) {
    ++round_;
    const int threads = matched_.size() < least_shared_matches ? 1 : static_cast<int>(mark_.size());
    parallel_ranges(threads, matched_.size(), std::size_t{32},
                    [&](int thread, std::size_t begin, std::size_t end) {
                      for (; begin < end; ++begin) raise_by(matched_[begin], thread, threads);
                    });
    for (std::vector<offset_t>& entries : raised_by_) {
      for (const offset_t e : std::exchange(entries, {})) {
        buckets_[key(at(e))].gainful.push_back(e);
        b = std::max(b, key(at(e)));
      }
    }
    return b;
  }
  void raise_by(offset_t p, int thread, int threads) {
    in_.give_gains(in_.row_of[at(p)], in_.col_of(at(p)), mark_[at(thread)], [&](std::size_t e) {
      if (!is_open(e)) return;
      raise(gain_[e], threads);
      const std::atomic_ref last(raised_[e]);
      if (last.exchange(round_, std::memory_order_relaxed) != round_)
        raised_by_[at(thread)].push_back(static_cast<offset_t>(e));
    });
  }

  const search_input& in_;
  std::span<const std::uint16_t> keys_;
  std::vector<std::uint16_t> gain_;  // by candidate
  std::vector<std::vector<index_t>>& mark_;
  pairs& m_;
  std::vector<bucket> buckets_;
  std::vector<offset_t> row_, col_;       // the least entry of a round
  std::vector<offset_t> open_, matched_;  // of the round
  std::vector<std::uint32_t> raised_;     // by candidate: the last round that raised its gain
  std::vector<std::vector<offset_t>> raised_by_;  // by thread
  std::uint32_t round_ = 0;
  int seed_rounds_ = 0;
};

}  // namespace

void search_steps::match_greedily(std::span<const std::uint16_t> keys, pairs& m) {
  greedy(in_, keys, gains(m), mark_, m).run(stop_);
}

}  // namespace gsofa::matchings
