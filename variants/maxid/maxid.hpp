#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "common/parallel.hpp"
#include "common/pattern.hpp"
#include "common/run_context.hpp"
#include "variants/support/counting.hpp"
#include "variants/support/row_store.hpp"

namespace gsofa::maxid {

/// How the relaxed algorithm is run; see maxid_engine.
struct maxid_settings {
  bool line_9_5 = false;       ///< test fill(w) before lowering maxId(w)
  bool range_reuse = true;     ///< a fresh value window per batch instead of re-initialisation
  bool bubble_removal = true;  ///< the maxId array of source s has s entries instead of |V|
  index_t concurrent = 64;     ///< sources per batch (#C)
  bool advance_window = true;  ///< false plants a fault: stale values of the batch before
  bool atomic_minimum = true;  ///< false plants a fault: the last writer of a level wins
};

/// The paper's relaxed algorithm (Section 4, Figure 6) on host threads, with the semantics of the
/// GPU: #C sources at once, one frontier queue of (vertex, slot) pairs for all of them, level by
/// level, each level shared out among the threads.
///
/// The algorithm: README.md of this folder.
///
/// Encoding. maxid: value window b holds base_b + m for m in [0, |V|), base_b =
/// 2^32 - 1 - (b + 1)(|V| + 1); everything >= base_b + |V| reads as infinity, so values left by
/// earlier windows need no reset. The last window that fits forces one (every
/// floor((2^32 - 1) / (|V| + 1)) batches). fill: source + 1 that last marked the vertex, 0 at
/// first. Slot k of a batch owns fill[k|V| ..] and maxid[offset_k ..] with s or |V| entries.
class maxid_engine {
 public:
  maxid_engine(const pattern_view& a, const maxid_settings& settings, int threads)
      : a_(a), settings_(settings), threads_(threads) {
    const auto n = static_cast<std::size_t>(a.n_rows);
    fill_.assign(n * static_cast<std::size_t>(settings.concurrent), 0);
    maxid_.assign(static_cast<std::size_t>(maxid_entries(a.n_rows, settings)), infinity);
    windows_ = std::numeric_limits<std::uint32_t>::max() / (static_cast<std::uint32_t>(n) + 1);
    threads_state_.resize(static_cast<std::size_t>(threads));
  }

  /// Entries of the largest maxId arena that any batch needs.
  static offset_t maxid_entries(index_t n, const maxid_settings& s) {
    const offset_t c = std::min<offset_t>(s.concurrent, n);
    return s.bubble_removal ? c * n - c * (c + 1) / 2 : c * n;
  }

  /// Finds all rows and adds them to `rows` (reset by the caller for `threads` threads).
  void run(detail::row_store& rows, run_context& context) {
    const index_t n = a_.n_rows;
    begin_run(context);
    std::vector<index_t> batch;
    for (index_t begin = 0; begin < n;) {
      context.check_deadline(begin, n);
      const index_t sources = std::min(n - begin, settings_.concurrent);
      batch.resize(static_cast<std::size_t>(sources));
      std::iota(batch.begin(), batch.end(), begin);
      find(batch, rows, context);
      begin += sources;
    }
  }

  /// Forgets everything, before the first find() of a run.
  void begin_run(run_context& context) {
    const phase timed(context, phase_id::init);
    std::ranges::fill(maxid_, infinity);
    std::ranges::fill(fill_, 0U);
    for (auto& t : threads_state_) t.clear();
    window_ = 0;
    frontiers_ = levels_ = reinitialisations_ = queue_peak_ = 0;
    frontier_size_.clear();
    edges_.clear();
  }

  /// Finds the rows of one batch: at most settings.concurrent sources, ascending. No source was in
  /// an earlier batch of this run. Calls rows.add(0, source, lower, upper) for each, in order.
  template <class Rows>
  void find(std::span<const index_t> sources, Rows& rows, run_context& context) {
    source_.assign(sources.begin(), sources.end());
    sources_ = static_cast<index_t>(source_.size());
    next_window(context);
    offset_.assign(source_.size() + 1, 0);
    for (std::size_t k = 0; k < source_.size(); ++k) {
      offset_[k + 1] = offset_[k] + (settings_.bubble_removal ? source_[k] : a_.n_rows);
    }
    queue_.clear();
    if constexpr (detail::counting) {
      expanded_.assign(fill_.size(), 0);
      for (auto& t : threads_state_) t.slot_edges.assign(source_.size(), 0);
    }
    for (index_t k = 0; k < sources_; ++k) start(k);

    context.check_deadline();
    if (!queue_.empty()) traverse(context);
    {
      const phase timed(context, phase_id::compact);
      compact(rows);
    }
    if constexpr (detail::counting) count_sources();
  }

  /// Counting build: edges traversed for the sources of the last batch, in their order.
  [[nodiscard]] std::span<const double> edges_of_batch() const {
    return std::span<const double>(edges_).last(source_.size());
  }

  /// Work of the counting build.
  void report(work_counters& counters) const {
    offset_t edges = 0;
    offset_t again = 0;
    offset_t revisits = 0;
    for (const auto& t : threads_state_) {
      edges += t.edges;
      again += t.found_again;
      revisits += t.revisits;
    }
    counters.totals["edges_traversed"] = edges;
    counters.totals["fills_found_again"] = again;
    counters.totals["frontiers"] = frontiers_;
    counters.totals["revisits"] = revisits;
    counters.totals["levels"] = levels_;
    counters.totals["reinitialisations"] = reinitialisations_;
    counters.totals["queue_peak"] = queue_peak_;
    counters.series["frontier_size"] = frontier_size_;
    counters.series["edges"] = edges_;
  }

 private:
  static constexpr std::uint32_t infinity = std::numeric_limits<std::uint32_t>::max();
  struct item {
    index_t vertex;
    index_t slot;
    bool operator==(const item&) const = default;
  };

  // Lowers `cell` to `value` if that is less; true if it was (atomicMin returning old > value).
  bool lower_to(std::uint32_t& cell, std::uint32_t value) const {
    if (threads_ == 1) {
      if (cell <= value) return false;
      cell = value;
      return true;
    }
    const std::atomic_ref<std::uint32_t> shared(cell);
    std::uint32_t old = shared.load(std::memory_order_relaxed);
    while (value < old) {
      if (shared.compare_exchange_weak(old, value, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  std::uint32_t read(std::uint32_t& cell) const {
    return threads_ == 1 ? cell
                         : std::atomic_ref<std::uint32_t>(cell).load(std::memory_order_relaxed);
  }
  // Stamps `cell`; true for the one thread that did it first.
  bool stamp(std::uint32_t& cell, std::uint32_t value) const {
    if (threads_ == 1) {
      const bool first = cell != value;
      cell = value;
      return first;
    }
    return std::atomic_ref<std::uint32_t>(cell).exchange(value, std::memory_order_relaxed) != value;
  }

  std::uint32_t& maxid(index_t slot, index_t v) {
    return maxid_[static_cast<std::size_t>(offset_[static_cast<std::size_t>(slot)] + v)];
  }
  [[nodiscard]] index_t source(index_t slot) const {
    return source_[static_cast<std::size_t>(slot)];
  }
  std::uint32_t& fill(index_t slot, index_t v) {
    return fill_[static_cast<std::size_t>(slot) * static_cast<std::size_t>(a_.n_rows) +
                 static_cast<std::size_t>(v)];
  }

  void next_window(run_context& context) {
    if (settings_.advance_window || window_ == 0) ++window_;
    if (!settings_.range_reuse || window_ > windows_) {
      const phase timed(context, phase_id::init);
      std::ranges::fill(maxid_, infinity);
      window_ = 1;
      ++reinitialisations_;
    }
    base_ = infinity - window_ * (static_cast<std::uint32_t>(a_.n_rows) + 1);
  }

  // The paper's lines 3 to 6: direct neighbours get maxId 0 and enter L or U; those below the
  // source are the first frontier.
  void start(index_t slot) {
    const index_t src = source(slot);
    const std::uint32_t stamp_value = static_cast<std::uint32_t>(src) + 1;
    threads_state_[0].edges += static_cast<offset_t>(a_.row(src).size());
    if constexpr (detail::counting) {
      threads_state_[0].slot_edges[static_cast<std::size_t>(slot)] +=
          static_cast<offset_t>(a_.row(src).size());
    }
    for (const index_t w : a_.row(src)) {
      fill(slot, w) = stamp_value;
      threads_state_[0].found.push_back({w, slot});
      if (w < src) {
        maxid(slot, w) = base_;
        queue_.push_back({w, slot});
      }
    }
  }

  // The paper's lines 9 to 15 for the frontiers queue_[begin, end).
  void expand(int thread, std::size_t begin, std::size_t end) {
    auto& mine = threads_state_[static_cast<std::size_t>(thread)];
    auto& found = mine.found;
    auto& next = mine.next;
    offset_t edges = 0;
    offset_t again = 0;
    for (std::size_t q = begin; q < end; ++q) {
      const auto [v, slot] = queue_[q];
      const index_t src = source(slot);
      const std::uint32_t stamp_value = static_cast<std::uint32_t>(src) + 1;
      const std::uint32_t proposal =
          std::max(base_ + static_cast<std::uint32_t>(v), read(maxid(slot, v)));
      if constexpr (detail::counting) {
        edges += static_cast<offset_t>(a_.row(v).size());
        mine.slot_edges[static_cast<std::size_t>(slot)] += static_cast<offset_t>(a_.row(v).size());
        // Two copies of (v, slot) in one level may belong to two threads.
        const std::atomic_ref<std::uint8_t> expanded(
            expanded_[static_cast<std::size_t>(slot) * static_cast<std::size_t>(a_.n_rows) +
                      static_cast<std::size_t>(v)]);
        if (expanded.exchange(1, std::memory_order_relaxed) != 0) ++mine.revisits;
      }
      for (const index_t w : a_.row(v)) {
        if (w >= src) {
          // Every path so far runs below src < w: w is in U(src,:).
          if (read(fill(slot, w)) != stamp_value && stamp(fill(slot, w), stamp_value)) {
            found.push_back({w, slot});
          }
          continue;
        }
        if (settings_.line_9_5 && read(fill(slot, w)) == stamp_value) continue;
        if (!improve(slot, w, proposal)) continue;
        if (read(fill(slot, w)) == stamp_value) {
          if constexpr (detail::counting) ++again;
          continue;  // it proposes its own number already
        }
        if (base_ + static_cast<std::uint32_t>(w) > proposal) {
          if (!stamp(fill(slot, w), stamp_value)) continue;
          found.push_back({w, slot});
        }
        next.push_back({w, slot});
      }
    }
    if constexpr (detail::counting) {
      mine.edges += edges;
      mine.found_again += again;
    }
  }

  bool improve(index_t slot, index_t w, std::uint32_t proposal) {
    if (settings_.atomic_minimum) return lower_to(maxid(slot, w), proposal);
    // Planted fault: all threads of a level compare with the value at its begin, then store.
    if (maxid(slot, w) <= proposal) return false;
    lost_.push_back({&maxid(slot, w), proposal});
    return true;
  }

  void finish_level() {
    for (const auto& [cell, value] : lost_) *cell = value;
    lost_.clear();
    queue_.clear();
    for (auto& t : threads_state_) {
      queue_.insert(queue_.end(), t.next.begin(), t.next.end());
      t.next.clear();
    }
    if (!settings_.atomic_minimum) {
      // Every writer of a level believes it won; without this their copies multiply per level.
      std::ranges::sort(queue_, {}, [](const item& f) { return std::pair(f.slot, f.vertex); });
      queue_.erase(std::unique(queue_.begin(), queue_.end()), queue_.end());
    }
    queue_peak_ = std::max(queue_peak_, static_cast<offset_t>(queue_.size()));
  }

  // Level by level until the queue is empty; frontiers are handed out in small ranges.
  void traverse(const run_context& context) {
    const std::size_t grain = threads_ == 1 ? std::numeric_limits<std::size_t>::max() / 2 : 256;
    std::atomic<std::size_t> cursor{0};
    count_level();
    parallel_levels(
        threads_,
        [&](int t) {
          const std::size_t size = queue_.size();
          for (std::size_t q = cursor.fetch_add(grain); q < size; q = cursor.fetch_add(grain)) {
            expand(t, q, std::min(size, q + grain));
          }
        },
        [&] {
          context.check_deadline();
          finish_level();
          cursor.store(0, std::memory_order_relaxed);
          count_level();
          return !queue_.empty();
        });
  }

  // Sorts what the threads found by source and hands the rows over.
  template <class Rows>
  void compact(Rows& rows) {
    std::vector<std::size_t> lower_at(static_cast<std::size_t>(sources_) + 1, 0);
    std::vector<std::size_t> upper_at(static_cast<std::size_t>(sources_) + 1, 0);
    for (const auto& t : threads_state_) {
      for (const item& f : t.found) {
        ++(f.vertex < source(f.slot) ? lower_at : upper_at)[static_cast<std::size_t>(f.slot) + 1];
      }
    }
    for (std::size_t k = 1; k < lower_at.size(); ++k) {
      lower_at[k] += lower_at[k - 1];
      upper_at[k] += upper_at[k - 1];
    }
    lower_.resize(lower_at.back());
    upper_.resize(upper_at.back());
    auto lower_next = lower_at;
    auto upper_next = upper_at;
    for (auto& t : threads_state_) {
      for (const item& f : t.found) {
        const auto k = static_cast<std::size_t>(f.slot);
        if (f.vertex < source(f.slot)) {
          lower_[lower_next[k]++] = f.vertex;
        } else {
          upper_[upper_next[k]++] = f.vertex;
        }
      }
      t.found.clear();
    }
    for (index_t slot = 0; slot < sources_; ++slot) {
      const auto k = static_cast<std::size_t>(slot);
      rows.add(
          0, source(slot),
          std::span<const index_t>(lower_).subspan(lower_at[k], lower_at[k + 1] - lower_at[k]),
          std::span<const index_t>(upper_).subspan(upper_at[k], upper_at[k + 1] - upper_at[k]));
    }
  }

  // Frontiers of the coming level, by slot.
  void count_level() {
    if constexpr (detail::counting) {
      if (queue_.empty()) return;
      ++levels_;
      frontiers_ += static_cast<offset_t>(queue_.size());
      level_frontiers_.resize(static_cast<std::size_t>(sources_), 0);
      level_count_.resize(static_cast<std::size_t>(sources_), 0);
      std::vector<char> seen(static_cast<std::size_t>(sources_), 0);
      for (const item& f : queue_) {
        const auto k = static_cast<std::size_t>(f.slot);
        ++level_frontiers_[k];
        level_count_[k] += seen[k] == 0 ? 1 : 0;
        seen[k] = 1;
      }
    }
  }
  // Edges of a source; its frontier_size: the mean, over the levels it takes part in, of its
  // frontiers.
  void count_sources() {
    for (std::size_t k = 0; k < static_cast<std::size_t>(sources_); ++k) {
      offset_t edges = 0;
      for (const auto& t : threads_state_) edges += t.slot_edges[k];
      edges_.push_back(static_cast<double>(edges));
    }
    level_frontiers_.resize(static_cast<std::size_t>(sources_), 0);
    level_count_.resize(static_cast<std::size_t>(sources_), 0);
    for (std::size_t k = 0; k < static_cast<std::size_t>(sources_); ++k) {
      frontier_size_.push_back(level_count_[k] == 0 ? 0.0
                                                    : static_cast<double>(level_frontiers_[k]) /
                                                          static_cast<double>(level_count_[k]));
    }
    level_frontiers_.clear();
    level_count_.clear();
  }

  pattern_view a_;
  maxid_settings settings_;
  int threads_;
  std::vector<std::uint32_t> maxid_, fill_;
  std::vector<offset_t> offset_;  // begin of each slot's maxId array
  std::uint32_t windows_ = 0;     // value windows between two initialisations
  std::uint32_t window_ = 0;
  std::uint32_t base_ = 0;
  std::vector<index_t> source_;  // of the batch, by slot
  index_t sources_ = 0;          // their number
  std::vector<item> queue_;
  // What one thread writes, on its own cache lines.
  struct alignas(128) thread_state {
    std::vector<item> next, found;
    std::vector<offset_t> slot_edges;  // counting only
    offset_t edges = 0, found_again = 0, revisits = 0;
    void clear() {
      next.clear();
      found.clear();
      edges = found_again = revisits = 0;
    }
  };
  std::vector<thread_state> threads_state_;
  std::vector<index_t> lower_, upper_;
  std::vector<std::pair<std::uint32_t*, std::uint32_t>> lost_;  // planted fault only
  std::vector<std::uint8_t> expanded_;  // counting only; 1: (slot, vertex) was expanded
  offset_t frontiers_ = 0, levels_ = 0, reinitialisations_ = 0, queue_peak_ = 0;
  std::vector<offset_t> level_frontiers_, level_count_;
  std::vector<double> frontier_size_, edges_;
};

}  // namespace gsofa::maxid
