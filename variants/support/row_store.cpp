#include "variants/support/row_store.hpp"

namespace gsofa::detail {

result row_store::collect(want_set wants) const {
  result out;
  const auto n = static_cast<index_t>(rows_.size());
  for (const row& r : rows_) {
    out.nnz_l += r.lower;
    out.nnz_u += r.upper;
  }
  if (wants.has(want::counts)) {
    for (const row& r : rows_) {
      out.l_row_counts.push_back(r.lower);
      out.u_row_counts.push_back(r.upper);
    }
  }
  if (wants.has(want::digest)) {
    out.row_digests.resize(rows_.size());
    for (index_t i = 0; i < n; ++i) {
      const std::uint64_t d = row_digest(i, lower(i)) + row_digest(i, upper(i));
      out.row_digests[static_cast<std::size_t>(i)] = d;
      out.digest += d;
    }
  }
  if (wants.has(want::pattern)) {
    for (const bool low : {true, false}) {
      pattern& p = low ? out.l : out.u;
      p.n_rows = p.n_cols = n;
      p.row_ptr.reserve(rows_.size() + 1);
      p.col_idx.reserve(static_cast<std::size_t>(low ? out.nnz_l : out.nnz_u));
      for (index_t i = 0; i < n; ++i) {
        const auto begin = p.col_idx.size();
        const auto entries = low ? lower(i) : upper(i);
        p.col_idx.insert(p.col_idx.end(), entries.begin(), entries.end());
        std::sort(p.col_idx.begin() + static_cast<std::ptrdiff_t>(begin), p.col_idx.end());
        p.row_ptr.push_back(static_cast<offset_t>(p.col_idx.size()));
      }
    }
  }
  return out;
}

}  // namespace gsofa::detail
