// planted_stale_maxid: deliberately wrong; maxId values of the batch before are taken for valid.
//
// All batches share one value window of maxId without re-initialisation, so that minima left by
// earlier sources block improvements.
// Every verification must reject it on some matrix of the small suite.

#include "variants/planted/planted.hpp"

namespace gsofa {
namespace {

class planted_stale_maxid final : public detail::planted_maxid_variant {
 protected:
  maxid::maxid_settings fault() const override {
    maxid::maxid_settings s;
    s.advance_window = false;
    s.bubble_removal = false;
    return s;
  }
};

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "planted_stale_maxid",
    .device = "cpu",
    .summary = "deliberately wrong: maxId values of the batch before are taken for valid",
    .citation = "variants/README.md: every oracle must be able to fail",
    .planted = "maxId values of the batch before are taken for valid",
    .create = [] { return std::make_unique<gsofa::planted_stale_maxid>(); },
});
