// planted_lost_diagonal: deliberately wrong; the diagonal entry of the last row is missing from U.
//
// U(n-1,n-1) is dropped.
// Every verification must reject it on some matrix of the small suite.

#include "variants/planted/planted.hpp"

namespace gsofa {
namespace {

class planted_lost_diagonal final : public detail::planted_row_variant {
 protected:
  void spoil(pattern&, pattern& u) override {
    const index_t last = u.n_rows - 1;
    erase(u, last, u.row_ptr[static_cast<std::size_t>(last)]);
  }
};

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "planted_lost_diagonal",
    .device = "cpu",
    .summary = "deliberately wrong: the diagonal entry of the last row is missing from U",
    .citation = "variants/README.md: every oracle must be able to fail",
    .planted = "the diagonal entry of the last row is missing from U",
    .create = [] { return std::make_unique<gsofa::planted_lost_diagonal>(); },
});
