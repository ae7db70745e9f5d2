// Approximate minimum degree on A + A^T, as shipped with Eigen.
// Amestoy, Davis & Duff, An approximate minimum degree ordering algorithm, 1996.

#include "variants/orderings/eigen_pattern.hpp"

namespace gsofa {

namespace {

ordering amd_order(const pattern_view& a, const order_settings&) {
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> perm;
  const pattern s = symmetrized(a, diagonal::keep);
  // Eigen indexes its workspace by int: this number of entries, with elbow room.
  narrow<int>(s.nnz() + s.nnz() / 5 + 2 * offset_t{s.n_rows}, "workspace of AMD");
  Eigen::AMDOrdering<int>()(as_eigen_columns(s), perm);
  const int* const order = perm.indices().data();
  return {.order = {order, order + a.n_rows}, .method = {}, .library = {}};
}

}  // namespace

GSOFA_REGISTER_ORDER({
    .name = "amd",
    .device = "cpu",
    .summary = "approximate minimum degree of A + A^T",
    .citation = "Amestoy, Davis & Duff 1996",
    .library = eigen_version(),
    .compute = amd_order,
});

}  // namespace gsofa
