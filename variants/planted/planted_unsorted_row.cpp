// planted_unsorted_row: deliberately wrong; two entries of a row are swapped.
//
// The first row of U with two entries is handed over in descending order; counts and digests are
// right, since they do not depend on the order.
// Every verification must reject it on some matrix of the small suite.

#include "variants/planted/planted.hpp"

namespace gsofa {
namespace {

class planted_unsorted_row final : public detail::planted_row_variant {
 protected:
  void spoil(pattern&, pattern& u) override {
    for (index_t i = 0; i < u.n_rows; ++i) {
      if (u.row(i).size() < 2) continue;
      const auto p = static_cast<std::size_t>(u.row_ptr[static_cast<std::size_t>(i)]);
      std::swap(u.col_idx[p], u.col_idx[p + 1]);
      return;
    }
  }
};

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "planted_unsorted_row",
    .device = "cpu",
    .summary = "deliberately wrong: two entries of a row are swapped",
    .citation = "variants/README.md: every oracle must be able to fail",
    .planted = "two entries of a row are swapped",
    .create = [] { return std::make_unique<gsofa::planted_unsorted_row>(); },
});
