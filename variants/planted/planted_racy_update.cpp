// planted_racy_update: deliberately wrong; updates of maxId get lost.
//
// The atomic minimum is replaced by the worst interleaving of plain stores: all threads of a level
// compare with the value at its begin, and the last store wins.
// Every verification must reject it on some matrix of the small suite.

#include "variants/planted/planted.hpp"

namespace gsofa {
namespace {

class planted_racy_update final : public detail::planted_maxid_variant {
 protected:
  maxid::maxid_settings fault() const override {
    maxid::maxid_settings s;
    s.atomic_minimum = false;
    return s;
  }
};

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "planted_racy_update",
    .device = "cpu",
    .summary = "deliberately wrong: updates of maxId get lost",
    .citation = "variants/README.md: every oracle must be able to fail",
    .planted = "updates of maxId get lost",
    .create = [] { return std::make_unique<gsofa::planted_racy_update>(); },
});
