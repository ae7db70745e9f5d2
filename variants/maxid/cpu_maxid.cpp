// cpu_maxid: the paper's relaxed algorithm with maxId and revisits, on host threads.
//
// The host form of the GPU variants, for every machine: batches of #C sources share one frontier
// queue, levels are synchronous, and atomic minima lower maxId (paper Section 4, Figures 6 and 7,
// multi-source traversal with a combined queue). Supernodes by the paper's two-phase detection
// (Section 5, Figure 8). Invariants and the encoding of maxId, fill and the queue:
// variants/maxid/maxid.hpp. Cost: every decrease of the maxId of a vertex that is not yet a fill-in
// costs a visit of its neighbours; memory 4|V|#C for fill, at most 4|V|#C for maxId, 8 bytes per
// queued frontier.

#include <optional>

#include "variants/maxid/maxid.hpp"
#include "variants/support/row_variant.hpp"

namespace gsofa {
namespace {

class cpu_maxid final : public detail::row_variant {
 public:
  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
    row_variant::prepare(a, settings, context);
    const option_set& o = settings.options;
    setup_.line_9_5 = o.flag("line_9_5");
    setup_.range_reuse = o.flag("range_reuse");
    setup_.bubble_removal = o.flag("bubble_removal");
    const std::int64_t wanted = o.integer("concurrent_sources");
    constexpr std::int64_t default_entries = std::int64_t{1} << 25;  // 128 MB of fill
    const std::int64_t chosen =
        wanted > 0 ? wanted : std::clamp<std::int64_t>(default_entries / a.n_rows, 16, 1024);
    setup_.concurrent = static_cast<index_t>(std::min<std::int64_t>(chosen, a.n_rows));
    context.predicted_bytes["fill"] = offset_t{4} * a.n_rows * setup_.concurrent;
    context.predicted_bytes["maxid"] = 4 * maxid::maxid_engine::maxid_entries(a.n_rows, setup_);
    engine_.emplace(a, setup_, settings_.threads);
  }

  void run(run_context& context) override {
    rows_.reset(a_.n_rows, settings_.threads, detail::needs_entries(settings_.wants));
    engine_->run(rows_, context);
    if (settings_.wants.has(want::supernodes)) {
      const phase timed(context, phase_id::supernode);
      supernodes_ = detail::t3_two_phase(rows_.u_counts(), settings_.chunk_size, settings_.threads,
                                         [&](index_t s, index_t r) { return rows_.has_l(s, r); });
    }
    if constexpr (detail::counting) engine_->report(context.counters);
  }

 private:
  maxid::maxid_settings setup_;
  std::optional<maxid::maxid_engine> engine_;
};

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "cpu_maxid",
    .device = "cpu",
    .summary = "the paper's maxId algorithm with revisits and a combined frontier queue",
    .citation = "paper Sections 4 and 5, Figures 6 to 8",
    .options = {{.name = "line_9_5",
                 .default_value = false,
                 .help = "test fill(w) before lowering maxId(w) (paper Figure 20)"},
                {.name = "range_reuse",
                 .default_value = true,
                 .help = "reuse maxId with a new range of values instead of re-initialising it "
                         "(paper Figure 14)"},
                {.name = "bubble_removal",
                 .default_value = true,
                 .help = "maxId of source s has s entries instead of |V| (paper Section 6)"},
                {.name = "concurrent_sources",
                 .default_value = std::int64_t{0},
                 .help = "sources per batch (#C); 0 chooses 16 to 1024 by the order of the matrix",
                 .minimum = 0,
                 .maximum = 1 << 20}},
    .multithreaded = true,
    .create = [] { return std::make_unique<gsofa::cpu_maxid>(); },
});
