// symmetric: pattern only (symmetric_search.hpp). A symmetric pattern with a zero-free diagonal
// keeps its rows.

#include <algorithm>

#include "common/matching.hpp"
#include "common/ordering.hpp"
#include "variants/matchings/symmetric_search.hpp"

namespace gsofa::matchings {

namespace {

row_matching symmetric(const matching_input& input, const matching_settings& settings) {
  const auto& [a, t, costs] = input;
  const bool is_symmetric =
      std::ranges::equal(a.row_ptr, t.row_ptr) && std::ranges::equal(a.col_idx, t.col_idx);
  row_matching m;
  m.row_of_col = is_symmetric && count_missing_diagonal(a) == 0
                     ? identity_order(a.n_rows)
                     : search_symmetric(a, t, settings.threads, settings.stop).row_of_col;
  return m;
}

}  // namespace

GSOFA_REGISTER_MATCHING({
    .name = "symmetric",
    .summary = "maximum cardinality, as many symmetric entries as found, by pattern alone",
    .citation = "Portase & Ucar 2016; Weisfeiler & Leman 1968",
    .compute = symmetric,
});

}  // namespace gsofa::matchings
