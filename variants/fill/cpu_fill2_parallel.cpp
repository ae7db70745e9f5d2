// cpu_fill2_parallel: fill2 with the sources spread over host threads.
//
// The paper's CPU baseline (Section 7, Figure 10: 42 cores of a Summit node): sources of fill2 are
// independent, so each thread takes the next few rows and searches them independently. Arrays: as
// cpu_fill2, one set per thread. Late rows cost far more than early rows (the paper's Figure 4), so
// threads take small ranges from a shared counter, starting at the expensive end. Cost:
// O(|V||E|/threads) time, 4|V| bytes per thread in addition to the rows.

#include "variants/fill/fill2.hpp"
#include "variants/support/row_variant.hpp"

namespace gsofa {
namespace {

class cpu_fill2_parallel final : public detail::row_variant {
 public:
  void run(run_context& context) override {
    const index_t n = a_.n_rows;
    const auto grain = static_cast<index_t>(settings_.options.integer("sources_per_range"));
    const int threads = useful_threads(settings_.threads, n / grain + 1);
    rows_.reset(n, threads, detail::needs_entries(settings_.wants));
    std::vector<fill::fill2_row> find;
    find.reserve(static_cast<std::size_t>(threads));
    for (int t = 0; t < threads; ++t) find.emplace_back(n);
    parallel_ranges<index_t>(threads, n, grain, [&](int t, index_t begin, index_t end) {
      fill::fill2_row& mine = find[static_cast<std::size_t>(t)];
      for (index_t k = begin; k < end; ++k) {
        context.check_deadline(k, n);
        const index_t src = n - 1 - k;
        mine(a_, src);
        rows_.add(t, src, mine.lower(), mine.upper());
      }
    });
    find_supernodes(context);
    if constexpr (detail::counting) {
      offset_t edges = 0;
      for (const auto& f : find) edges += f.edges();
      context.counters.totals["edges_traversed"] = edges;
    }
  }
};

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "cpu_fill2_parallel",
    .device = "cpu",
    .summary = "fill2 with one source per host thread at a time",
    .citation = "paper Section 7, Figure 10 (the parallel CPU baseline)",
    .options = {{.name = "sources_per_range",
                 .default_value = std::int64_t{16},
                 .help = "consecutive sources that a thread takes at once",
                 .minimum = 1,
                 .maximum = 1 << 20}},
    .multithreaded = true,
    .create = [] { return std::make_unique<gsofa::cpu_fill2_parallel>(); },
});
