#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "common/variant.hpp"
#include "variants/support/column_result.hpp"
#include "variants/support/counting.hpp"
#include "variants/support/row_store.hpp"

namespace gsofa::row_reach {

/// Symbolic LU column by column: column j of L+U is A(:,j) united with L(:,k) for every k < j in
/// it (Gilbert & Peierls 1988 without pruning). A derived variant says how it unites the lists.
/// Memory: 4 bytes per entry of L+U. Cost: O(sum over U(k,j) != 0 of |L(:,k)|) at least, half the
/// multiplications of the numeric factorization.
class column_unions : public variant {
 public:
  void prepare(const pattern_view& a, const run_settings& settings, run_context&) override {
    columns_of_a_ = transpose(a);
    settings_ = settings;
  }

  void run(run_context& context) override {
    const index_t n = columns_of_a_.n_rows;
    // In the transposed matrix a column of L is the upper part of a row.
    columns_.reset(n, 1, true);
    u_counts_.assign(static_cast<std::size_t>(n), 0);
    begin(n);
    for (index_t j = 0; j < n; ++j) {
      context.check_deadline(j, n);
      const auto [u_part, l_part] = unite(j);
      columns_.add(0, j, u_part, l_part);
      for (const index_t i : u_part) ++u_counts_[static_cast<std::size_t>(i)];
      ++u_counts_[static_cast<std::size_t>(j)];
    }
    if (settings_.wants.has(want::supernodes)) {
      const phase timed(context, phase_id::supernode);
      supernodes_ =
          detail::t3_post_pass(u_counts_, settings_.chunk_size, [&](index_t s, index_t r) {
            const auto l = columns_.upper(r);
            return std::ranges::find(l, s) != l.end();
          });
    }
    if constexpr (detail::counting) context.counters.totals["edges_traversed"] = edges_;
  }

  result collect(want_set wants) override {
    const index_t n = columns_of_a_.n_rows;
    pattern l;
    pattern u;
    l.n_rows = l.n_cols = u.n_rows = u.n_cols = n;
    for (index_t j = 0; j < n; ++j) {
      for (const index_t i : columns_.upper(j)) {
        if (i != j) l.col_idx.push_back(i);
      }
      l.row_ptr.push_back(static_cast<offset_t>(l.col_idx.size()));
      const auto above = columns_.lower(j);
      u.col_idx.insert(u.col_idx.end(), above.begin(), above.end());
      u.row_ptr.push_back(static_cast<offset_t>(u.col_idx.size()));
    }
    result out = detail::collect_columns(l, u, wants);
    if (wants.has(want::supernodes)) out.supernode_starts = supernodes_;
    return out;
  }

 protected:
  /// Rows < j and rows >= j of a column; valid until the next call.
  using column = std::pair<std::span<const index_t>, std::span<const index_t>>;

  /// Allocates working memory for n columns, within the timed part.
  virtual void begin(index_t n) = 0;
  /// Column j of L+U, from a_column(j) and the columns of L before j.
  virtual column unite(index_t j) = 0;

  [[nodiscard]] std::span<const index_t> a_column(index_t j) const { return columns_of_a_.row(j); }
  /// Rows >= k of column k < j, in the sequence in which unite() returned them.
  [[nodiscard]] std::span<const index_t> l_column(index_t k) const { return columns_.upper(k); }
  void count_edges(std::size_t edges) {
    if constexpr (detail::counting) edges_ += static_cast<offset_t>(edges);
  }

 private:
  pattern columns_of_a_;
  run_settings settings_;
  detail::row_store columns_;
  std::vector<index_t> u_counts_, supernodes_;
  offset_t edges_ = 0;
};

}  // namespace gsofa::row_reach
