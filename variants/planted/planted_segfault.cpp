// planted_segfault: deliberately wrong; it stores to no memory.
//
// The run of an order above 2 stores to an address that no process has.
// Only a process of its own survives it: `gsofa check` must reject it and go on.

#include <cstdint>

#include "variants/planted/planted.hpp"

namespace gsofa {
namespace {

class planted_segfault final : public detail::planted_fatal_variant {
 protected:
  void strike() override { *nowhere_ = 1; }

 private:
  int* volatile nowhere_ = reinterpret_cast<int*>(std::uintptr_t{64});  // in no page
};

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "planted_segfault",
    .device = "cpu",
    .summary = "deliberately wrong: it stores to no memory",
    .citation = "variants/README.md: every oracle must be able to fail",
    .planted = "it stores to no memory",
    .fatal = true,
    .create = [] { return std::make_unique<gsofa::planted_segfault>(); },
});
