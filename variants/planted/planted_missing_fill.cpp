// planted_missing_fill: deliberately wrong; the last fill-in of L is lost.
//
// The last entry of L that is not in A is dropped; a matrix without fill-in in L stays right.
// Every verification must reject it on some matrix of the small suite.

#include "variants/planted/planted.hpp"

namespace gsofa {
namespace {

class planted_missing_fill final : public detail::planted_row_variant {
 protected:
  void spoil(pattern& l, pattern&) override {
    for (index_t i = l.n_rows - 1; i >= 0; --i) {
      for (offset_t p = l.row_ptr[static_cast<std::size_t>(i) + 1] - 1;
           p >= l.row_ptr[static_cast<std::size_t>(i)]; --p) {
        if (std::ranges::binary_search(a_.row(i), l.col_idx[static_cast<std::size_t>(p)])) continue;
        erase(l, i, p);
        return;
      }
    }
  }
};

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "planted_missing_fill",
    .device = "cpu",
    .summary = "deliberately wrong: the last fill-in of L is lost",
    .citation = "variants/README.md: every oracle must be able to fail",
    .planted = "the last fill-in of L is lost",
    .create = [] { return std::make_unique<gsofa::planted_missing_fill>(); },
});
