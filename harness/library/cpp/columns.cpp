#include <utility>

#include "common/preprocess.hpp"
#include "harness/library/cpp/forms.hpp"
#include "harness/library/cpp/options.hpp"
#include "harness/library/cpp/results.hpp"

namespace gsofa::library {

namespace {

// Columns of L and U from an analysis of the transposed pattern: by columns, L is U of the other by
// rows without its diagonal, and U is L of the other with one.
void exchange_factors(const analysis_options& options, analysis& f) {
  const auto n = at(f.n);
  csc_pattern l{f.n, {}, {}}, u{f.n, {}, {}};
  l.col_ptr.reserve(n + 1);
  u.col_ptr.reserve(n + 1);
  l.row_idx.reserve(at(f.nnz_u) - n);
  u.row_idx.reserve(at(f.nnz_l) + n);
  l.col_ptr.push_back(0);
  u.col_ptr.push_back(0);
  f.l_row_counts.assign(n, 0);
  f.u_row_counts.assign(n, 0);
  for (index_t j = 0; j < f.n; ++j) {
    // The diagonal is the first entry of a row of U.
    for (const index_t i : f.u.row(j).subspan(1)) {
      l.row_idx.push_back(i);
      ++f.l_row_counts[at(i)];
    }
    for (const index_t i : f.l.row(j)) {
      u.row_idx.push_back(i);
      ++f.u_row_counts[at(i)];
    }
    u.row_idx.push_back(j);
    ++f.u_row_counts[at(j)];
    l.col_ptr.push_back(static_cast<offset_t>(l.row_idx.size()));
    u.col_ptr.push_back(static_cast<offset_t>(u.row_idx.size()));
  }
  f.nnz_l = static_cast<offset_t>(l.row_idx.size());
  f.nnz_u = static_cast<offset_t>(u.row_idx.size());
  f.l = f.u = {};
  if (options.factors) {
    const auto rows = [](const csc_pattern& p) {
      return rows_of(transpose({p.n, p.n, p.col_ptr, p.row_idx}));
    };
    f.l = rows(l);
    f.u = rows(u);
  }
  f.l_columns = std::move(l);
  f.u_columns = std::move(u);
}

// Orders that A and its transpose have in common, taken from A + A^T or from nowhere.
bool orders_transposed_alike(order_method order) {
  return order != order_method::colamd && order != order_method::best_of;
}

}  // namespace

void analyze_columns(const given_pattern& a, const analysis_options& options, workspace& w,
                     supervision& s, analysis& out) {
  auto since = clock::now();
  input_arrays arrays;
  checked_input columns = read(a, arrays);
  const bool moves_rows = columns.missing > 0 && options.match;
  if (options.factor_columns && !options.supernodes && !moves_rows &&
      !needs_supernodes_of_columns(options) && orders_transposed_alike(options.order)) {
    analysis_options by_rows = options;
    by_rows.factors = true;
    by_rows.factor_columns = false;
    analyze_rows(columns, since, by_rows, w, s, out);
    since = clock::now();
    exchange_factors(options, out);
    out.output_seconds += lap(since);
    return;
  }
  const pattern rows = transpose(columns.a);
  columns.a = rows;
  arrays = {};
  analyze_rows(columns, since, options, w, s, out);
}

}  // namespace gsofa::library
