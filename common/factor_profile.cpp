#include "common/factor_profile.hpp"

namespace gsofa {

factor_profile profile_of(const pattern_view& l, const pattern_view& u, index_t cells) {
  const index_t n = u.n_rows;
  factor_profile out{.l_col_counts = std::vector<index_t>(at(n), 0), .cells = cells, .density = {}};
  for (const index_t j : l.col_idx) ++out.l_col_counts[at(j)];
  if (cells == 0) return out;
  out.density.assign(at(cells) * at(cells), 0);
  for (const pattern_view& factor : {l, u}) {
    for (index_t i = 0; i < n; ++i) {
      offset_t* const row = out.density.data() + offset_t{cell_of(i, n, cells)} * cells;
      for (const index_t j : factor.row(i)) ++row[cell_of(j, n, cells)];
    }
  }
  return out;
}

}  // namespace gsofa
