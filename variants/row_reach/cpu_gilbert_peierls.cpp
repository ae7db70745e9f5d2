// cpu_gilbert_peierls: sequential symbolic LU by reachability, with symmetric pruning and
// supernodal skipping; the strong sequential baseline.
//
// Gilbert & Peierls 1988; Eisenstat & Liu 1992; Demmel et al. 1999. The algorithm, its invariants,
// the encoding of its arrays and its cost: variants/support/gilbert_peierls.hpp.

#include "variants/support/gilbert_peierls.hpp"

namespace gsofa {
namespace {

class cpu_gilbert_peierls final : public variant {
 public:
  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
    engine_.prepare(a, settings);
    context.predicted_bytes["vertex_arrays"] = offset_t{a.n_rows} * 36;
  }
  void run(run_context& context) override { engine_.run(context); }
  result collect(want_set wants) override { return engine_.collect(wants); }

 private:
  detail::gilbert_peierls engine_;
};

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "cpu_gilbert_peierls",
    .device = "cpu",
    .summary = "reachability in G(U) with symmetric pruning and supernodes, sequential",
    .citation = "Gilbert & Peierls 1988; Eisenstat & Liu 1992; Demmel et al. 1999",
    .create = [] { return std::make_unique<gsofa::cpu_gilbert_peierls>(); },
});
