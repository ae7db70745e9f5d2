#pragma once

#include <vector>

#include "common/pattern.hpp"
#include "variants/support/counting.hpp"

namespace gsofa::fill {

/// Row `src` by the fill2 algorithm (Rose & Tarjan 1978; the paper's Figure 3b) on the original
/// graph. Thresholds ascend strictly through the vertices of row src that are smaller than src;
/// from threshold t a search runs through vertices below t that no earlier threshold reached, and
/// every unreached w > t next to it is a fill-in: all intermediates are at most t < min(src, w).
/// fill[v] == src means that the search has reached v from src. Each vertex is expanded at most
/// once per source, so the work is O(|E|) per source and O(|V||E|) in all. Sources are independent.
/// Objects are aligned to pairs of cache lines (the processor fetches two of 64 bytes together): an
/// array holds one object per thread, and every push_back writes to it.
class alignas(128) fill2_row {
 public:
  explicit fill2_row(index_t n) : fill_(static_cast<std::size_t>(n), -1) {}

  void operator()(const pattern_view& a, index_t src) {
    lower_.clear();
    upper_.clear();
    for (const index_t w : a.row(src)) {
      fill_[static_cast<std::size_t>(w)] = src;
      (w < src ? lower_ : upper_).push_back(w);
    }
    edges_ += static_cast<offset_t>(a.row(src).size());
    for (index_t threshold = 0; threshold < src; ++threshold) {
      if (fill_[static_cast<std::size_t>(threshold)] != src) continue;
      queue_.assign(1, threshold);
      while (!queue_.empty()) {
        const index_t v = queue_.back();
        queue_.pop_back();
        if constexpr (detail::counting) edges_ += static_cast<offset_t>(a.row(v).size());
        for (const index_t w : a.row(v)) {
          if (fill_[static_cast<std::size_t>(w)] == src) continue;
          fill_[static_cast<std::size_t>(w)] = src;
          if (w > threshold) {
            (w < src ? lower_ : upper_).push_back(w);
          } else {
            queue_.push_back(w);
          }
        }
      }
    }
  }
  /// Columns of the row just found: < src, and >= src.
  [[nodiscard]] std::span<const index_t> lower() const { return lower_; }
  [[nodiscard]] std::span<const index_t> upper() const { return upper_; }
  [[nodiscard]] offset_t edges() const { return edges_; }

 private:
  std::vector<index_t> fill_, lower_, upper_, queue_;
  offset_t edges_ = 0;
};

}  // namespace gsofa::fill
