// planted_abort: deliberately wrong; it aborts.
//
// The run of an order above 2 calls abort(), as a failed assertion does.
// Only a process of its own survives it: `gsofa check` must reject it and go on.

#include <cstdlib>

#include "variants/planted/planted.hpp"

namespace gsofa {
namespace {

class planted_abort final : public detail::planted_fatal_variant {
 protected:
  void strike() override { std::abort(); }
};

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "planted_abort",
    .device = "cpu",
    .summary = "deliberately wrong: it aborts",
    .citation = "variants/README.md: every oracle must be able to fail",
    .planted = "it aborts",
    .fatal = true,
    .create = [] { return std::make_unique<gsofa::planted_abort>(); },
});
