// cpu_fill1: symbolic LU row by row with the fill1 algorithm.
//
// Row i of L+U is the set of vertices reachable from i along A(i,:) and the rows of U before i,
// because a fill path whose intermediates ascend in U represents every fill path (Rose & Tarjan
// 1978, SIAM J. Appl. Math. 34; the paper's Figure 3a and Section 2.1). Sequential: row i needs all
// rows before it. Arrays: fill[v] = last source that reached v; per row one list, L part then U
// part. Cost: O(sum over L(i,k) != 0 of |U(k,:)|) time, 4 bytes per entry of L+U plus 4|V|.

#include "variants/fill/fill1.hpp"
#include "variants/support/row_variant.hpp"

namespace gsofa {
namespace {

class cpu_fill1 final : public detail::row_variant {
 public:
  void run(run_context& context) override {
    rows_.reset(a_.n_rows, 1, true);
    fill::fill1_row find(a_.n_rows);
    for (index_t src = 0; src < a_.n_rows; ++src) {
      context.check_deadline(src, a_.n_rows);
      find(a_, src, rows_);
    }
    find_supernodes(context);
    if constexpr (detail::counting) context.counters.totals["edges_traversed"] = find.edges();
  }
};

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "cpu_fill1",
    .device = "cpu",
    .summary = "fill1: row by row on the filled graph G(U), sequential",
    .citation = "Rose & Tarjan 1978; paper Section 2.1, Figure 3a",
    .create = [] { return std::make_unique<gsofa::cpu_fill1>(); },
});
