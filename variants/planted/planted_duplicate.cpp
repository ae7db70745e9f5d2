// planted_duplicate: deliberately wrong; an entry is listed twice.
//
// The first diagonal entry of U stands twice in its row.
// Every verification must reject it on some matrix of the small suite.

#include "variants/planted/planted.hpp"

namespace gsofa {
namespace {

class planted_duplicate final : public detail::planted_row_variant {
 protected:
  void spoil(pattern&, pattern& u) override { insert(u, 0, 0, 0); }
};

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "planted_duplicate",
    .device = "cpu",
    .summary = "deliberately wrong: an entry is listed twice",
    .citation = "variants/README.md: every oracle must be able to fail",
    .planted = "an entry is listed twice",
    .create = [] { return std::make_unique<gsofa::planted_duplicate>(); },
});
