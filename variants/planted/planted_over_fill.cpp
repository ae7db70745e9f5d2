// planted_over_fill: deliberately wrong; closed over-fill.
//
// The result is the fill closure of A with one entry more: the first zero of the last row is taken
// for a nonzero. Closed under elimination, but that entry is justified by nothing.
// Every verification must reject it on some matrix of the small suite.

#include "variants/planted/planted.hpp"

namespace gsofa {
namespace {

class planted_over_fill final : public detail::planted_row_variant {
 public:
  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
    padded_ = pattern{a.n_rows,
                      a.n_cols,
                      {a.row_ptr.begin(), a.row_ptr.end()},
                      {a.col_idx.begin(), a.col_idx.end()}};
    const index_t last = a.n_rows - 1;
    index_t j = 0;
    for (const index_t k : a.row(last)) j += k == j ? 1 : 0;
    if (j < last) insert(padded_, last, padded_.row_ptr[static_cast<std::size_t>(last)] + j, j);
    row_variant::prepare(padded_, settings, context);
  }

 protected:
  void spoil(pattern&, pattern&) override {}

 private:
  pattern padded_;
};

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "planted_over_fill",
    .device = "cpu",
    .summary = "deliberately wrong: closed over-fill",
    .citation = "variants/README.md: every oracle must be able to fail",
    .planted = "closed over-fill",
    .create = [] { return std::make_unique<gsofa::planted_over_fill>(); },
});
