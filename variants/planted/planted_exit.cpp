// planted_exit: deliberately wrong; it ends the program as if all were well.
//
// The run of an order above 2 ends the program with the status of success.
// Only a process of its own survives it: `gsofa check` must reject it and go on.

#include <cstdlib>

#include "variants/planted/planted.hpp"

namespace gsofa {
namespace {

class planted_exit final : public detail::planted_fatal_variant {
 protected:
  void strike() override { std::exit(0); }
};

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "planted_exit",
    .device = "cpu",
    .summary = "deliberately wrong: it ends the program as if all were well",
    .citation = "variants/README.md: every oracle must be able to fail",
    .planted = "it ends the program as if all were well",
    .fatal = true,
    .create = [] { return std::make_unique<gsofa::planted_exit>(); },
});
