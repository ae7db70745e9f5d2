#include "variants/support/column_result.hpp"

#include "common/digest.hpp"

namespace gsofa::detail {

result collect_columns(const pattern_view& l_columns, const pattern_view& u_columns,
                       want_set wants) {
  const index_t n = l_columns.n_rows;
  result out;
  out.nnz_l = l_columns.nnz();
  out.nnz_u = u_columns.nnz() + n;
  if (wants == want_set{}) return out;
  out.l = transpose(l_columns);
  const pattern strict_u = transpose(u_columns);
  if (wants.has(want::counts)) {
    for (index_t i = 0; i < n; ++i) {
      out.l_row_counts.push_back(static_cast<index_t>(out.l.row(i).size()));
      out.u_row_counts.push_back(static_cast<index_t>(strict_u.row(i).size()) + 1);
    }
  }
  if (wants.has(want::digest)) {
    for (index_t i = 0; i < n; ++i) {
      out.row_digests.push_back(row_digest(i, out.l.row(i)) + row_digest(i, strict_u.row(i)) +
                                entry_hash(i, i));
      out.digest += out.row_digests.back();
    }
  }
  if (wants.has(want::pattern)) {
    out.u.n_rows = out.u.n_cols = n;
    out.u.col_idx.reserve(static_cast<std::size_t>(out.nnz_u));
    for (index_t i = 0; i < n; ++i) {
      out.u.col_idx.push_back(i);
      const auto row = strict_u.row(i);
      out.u.col_idx.insert(out.u.col_idx.end(), row.begin(), row.end());
      out.u.row_ptr.push_back(static_cast<offset_t>(out.u.col_idx.size()));
    }
  } else {
    out.l = {};
  }
  return out;
}

}  // namespace gsofa::detail
