#pragma once

#include <vector>

#include "common/pattern.hpp"
#include "variants/support/counting.hpp"
#include "variants/support/row_store.hpp"

namespace gsofa::fill {

/// Row `src` by the fill1 algorithm (Rose & Tarjan 1978; the paper's Figure 3a): everything that is
/// reachable from src in G(U) of the rows before it, entered through A(src,:). fill[v] == src means
/// that v is already in row src; the stamps need no reset between ascending sources.
class fill1_row {
 public:
  explicit fill1_row(index_t n) : fill_(static_cast<std::size_t>(n), -1) {}

  /// Finds row src, given all rows before it in `rows`, and adds it there.
  void operator()(const pattern_view& a, index_t src, detail::row_store& rows) {
    lower_.clear();
    upper_.clear();
    for (const index_t w : a.row(src)) visit(src, w);
    edges_ += static_cast<offset_t>(a.row(src).size());
    // lower_ is both the L part of the row and the queue of frontiers.
    for (std::size_t head = 0; head < lower_.size(); ++head) {
      const auto neighbours = rows.upper(lower_[head]);
      if constexpr (detail::counting) edges_ += static_cast<offset_t>(neighbours.size());
      for (const index_t w : neighbours) visit(src, w);
    }
    rows.add(0, src, lower_, upper_);
  }
  [[nodiscard]] offset_t edges() const { return edges_; }

 private:
  void visit(index_t src, index_t w) {
    if (fill_[static_cast<std::size_t>(w)] == src) return;
    fill_[static_cast<std::size_t>(w)] = src;
    (w < src ? lower_ : upper_).push_back(w);
  }

  std::vector<index_t> fill_, lower_, upper_;
  offset_t edges_ = 0;
};

}  // namespace gsofa::fill
