// cpu_set_union: symbolic LU column by column as unions of columns of L.
//
// The method of GLU 3.0 (Peng & Tan 2020, IEEE Design & Test 37), Gilbert & Peierls 1988 without
// pruning: column j of L+U is A(:,j) united with L(:,k) for every k < j in it.
// Arrays: mark[i] = last column that i entered; column lists of L (rows > j) and of U (rows <= j),
// in order of discovery; the U part is also the queue of columns still to be united.
// Cost: O(sum over U(k,j) != 0 of |L(:,k)|), half the multiplications of the numeric
// factorization; 4 bytes per entry of L+U plus 4|V|.

#include "common/variant.hpp"
#include "variants/support/column_result.hpp"
#include "variants/support/counting.hpp"
#include "variants/support/row_store.hpp"

namespace gsofa {
namespace {

class cpu_set_union final : public variant {
 public:
  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
    columns_of_a_ = transpose(a);
    settings_ = settings;
    context.predicted_bytes["mark"] = offset_t{a.n_rows} * 4;
  }

  void run(run_context& context) override {
    const index_t n = columns_of_a_.n_rows;
    // In the transposed matrix a column of L is the upper part of a row.
    columns_.reset(n, 1, true);
    std::vector<index_t> mark(static_cast<std::size_t>(n), -1);
    std::vector<index_t> u_part;
    std::vector<index_t> l_part;  // with the diagonal
    u_counts_.assign(static_cast<std::size_t>(n), 0);
    offset_t edges = 0;
    for (index_t j = 0; j < n; ++j) {
      context.check_deadline(j, n);
      u_part.clear();
      l_part.clear();
      auto enter = [&](std::span<const index_t> rows) {
        if constexpr (detail::counting) edges += static_cast<offset_t>(rows.size());
        for (const index_t i : rows) {
          if (mark[static_cast<std::size_t>(i)] == j) continue;
          mark[static_cast<std::size_t>(i)] = j;
          (i < j ? u_part : l_part).push_back(i);
        }
      };
      enter(columns_of_a_.row(j));
      for (std::size_t head = 0; head < u_part.size(); ++head) enter(columns_.upper(u_part[head]));
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
    if constexpr (detail::counting) context.counters.totals["edges_traversed"] = edges;
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

 private:
  pattern columns_of_a_;
  run_settings settings_;
  detail::row_store columns_;
  std::vector<index_t> u_counts_, supernodes_;
};

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "cpu_set_union",
    .device = "cpu",
    .summary = "column by column as unions of columns of L (GLU 3.0's method), sequential",
    .citation = "Peng & Tan 2020 (GLU 3.0); Gilbert & Peierls 1988; paper Figure 11",
    .create = [] { return std::make_unique<gsofa::cpu_set_union>(); },
});
