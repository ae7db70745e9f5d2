// planted_endless: deliberately wrong; it never returns.
//
// The run of an order above 2 never looks at its deadline. It sleeps, so that others can work.
// Only a process of its own survives it: `gsofa check` must reject it and go on.

#include <chrono>
#include <thread>

#include "variants/planted/planted.hpp"

namespace gsofa {
namespace {

class planted_endless final : public detail::planted_fatal_variant {
 protected:
  void strike() override {
    for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
  }
};

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "planted_endless",
    .device = "cpu",
    .summary = "deliberately wrong: it never returns",
    .citation = "variants/README.md: every oracle must be able to fail",
    .planted = "it never returns",
    .fatal = true,
    .create = [] { return std::make_unique<gsofa::planted_endless>(); },
});
