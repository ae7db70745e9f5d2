// Column approximate minimum degree: an order of the columns by the pattern of A^T A, as shipped
// with Eigen. Davis, Gilbert, Larimore & Ng, A column approximate minimum degree ordering
// algorithm, 2004.

#include "variants/orderings/eigen_pattern.hpp"

namespace gsofa {

namespace {

ordering colamd_order(const pattern_view& a, const order_settings&) {
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> perm;
  // Eigen holds the entries twice, six numbers for each column, four for each row and elbow room in
  // an array that int indexes.
  narrow<int>(2 * a.nnz() + a.nnz() / 5 + 11 * offset_t{a.n_rows} + 10, "workspace of COLAMD");
  // A^T in rows has the columns of A as its compressed columns.
  Eigen::COLAMDOrdering<int>()(as_eigen_columns(transpose(a)), perm);
  // indices()(j) is the position of column j
  const int* const position = perm.indices().data();
  return {
      .order = inverse_permutation({position, position + a.n_rows}), .method = {}, .library = {}};
}

}  // namespace

GSOFA_REGISTER_ORDER({
    .name = "colamd",
    .device = "cpu",
    .summary = "column approximate minimum degree, of A^T A",
    .citation = "Davis, Gilbert, Larimore & Ng 2004",
    .library = eigen_version(),
    .compute = colamd_order,
});

}  // namespace gsofa
