// cpu_fill2: symbolic LU row by row with the fill2 algorithm.
//
// A row-by-row search finds every row independently, from the original graph, with strictly
// ascending thresholds (Rose & Tarjan 1978; the paper's Figure 3b). See variants/fill/fill2.hpp for
// the invariant. Arrays: fill[v] = last source that reached v; a stack of vertices below the
// threshold.
// Cost: O(|V||E|) time in the worst case plus |V|^2/2 threshold tests; 4|V| bytes in addition to
// the rows.

#include "variants/fill/fill2.hpp"
#include "variants/support/row_variant.hpp"

namespace gsofa {
namespace {

class cpu_fill2 final : public detail::row_variant {
 public:
  void run(run_context& context) override {
    rows_.reset(a_.n_rows, 1, detail::needs_entries(settings_.wants));
    fill::fill2_row find(a_.n_rows);
    for (index_t src = 0; src < a_.n_rows; ++src) {
      context.check_deadline(src, a_.n_rows);
      find(a_, src);
      rows_.add(0, src, find.lower(), find.upper());
    }
    find_supernodes(context);
    if constexpr (detail::counting) context.counters.totals["edges_traversed"] = find.edges();
  }
};

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "cpu_fill2",
    .device = "cpu",
    .summary = "fill2: row by row on the original graph with ascending thresholds, sequential",
    .citation = "Rose & Tarjan 1978; paper Section 2.1, Figure 3b",
    .create = [] { return std::make_unique<gsofa::cpu_fill2>(); },
});
