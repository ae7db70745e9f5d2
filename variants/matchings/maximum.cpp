// Any matching of maximum cardinality: the identity if the diagonal is zero-free, otherwise
// depth-first searches with a look-ahead for unmatched columns (Duff 1981), by SuiteSparse BTF.
// O(n nnz) at worst, near O(nnz) on most matrices.

#include <string>

#include "common/matching.hpp"
#include "common/ordering.hpp"
#include "common/preprocess.hpp"

namespace gsofa::matchings {

namespace {

row_matching maximum(const matching_input& input, const matching_settings&) {
  if (count_missing_diagonal(input.a) == 0) {
    return {.row_of_col = identity_order(input.a.n_rows)};
  }
  return {.row_of_col = maximum_transversal(input.a).row_of_col};
}

}  // namespace

GSOFA_REGISTER_MATCHING({
    .name = "maximum",
    .summary = "any matching of maximum cardinality; a zero-free diagonal stays in place",
    .citation = "Duff 1981",
    .library = matching_library(),
    .unavailable =
        [] {
          std::optional<std::string> why;
          if (matching_library().empty()) {
            why = needs_library("matching", "SuiteSparse BTF", "libsuitesparse-dev").what();
          }
          return why;
        },
    .compute = maximum,
});

}  // namespace gsofa::matchings
