// cpu_bitmap_panels: TODO

#include <algorithm>
#include <memory>

#include "variants/detail/bitmap_panels/elimination.hpp"
#include "variants/detail/bitmap_panels/expansion.hpp"
#include "variants/detail/bitmap_panels/schedule.hpp"
#include "variants/detail/counting.hpp"
#include "variants/detail/gilbert_peierls.hpp"
#include "variants/detail/supernodes.hpp"

namespace gsofa {
namespace {

class cpu_bitmap_panels final : public variant {
 public:
  void prepare(const pattern_view& a, const run_settings& settings, execution& exec) override {
    a_ = a;
    settings_ = settings;
    rows_.prepare(a, settings);
    limit_ = settings.options.integer("memory_budget_mb") * (1 << 20) / detail::bytes_per_position;
    exec.predicted_bytes["vertex_arrays"] = offset_t{a.n_rows} * 36 + a.nnz() * 4;
  }

  void run(execution& exec) override {
    {
      const phase timed(exec, phase_id::schedule);
      graph_.build(a_);
      exec.check_deadline();
      detail::cut_panels(graph_, static_cast<int>(settings_.options.integer("panel_width")),
                         panels_);
    }
    {
      const phase timed(exec, phase_id::init);
      by_rows_ = !builder_.build(graph_, panels_, limit_);
    }
    exec.check_deadline();
    if (by_rows_) {
      rows_.run(exec);
      return;
    }
    settings_.threads > 1 ? factor<true>(exec) : factor<false>(exec);
    if (settings_.wants.has(want::supernodes)) {
      const phase timed(exec, phase_id::supernode);
      if (!graph_.order.empty()) label_ = inverse_permutation(graph_.order);
      t3_starts_ = detail::t3_post_pass(u_counts_, settings_.chunk_size, [&](index_t s, index_t r) {
        return detail::has_l(panels_, vertex(s), vertex(r));
      });
    }
  }

  result collect(want_set wants) override {
    if (by_rows_) return rows_.collect(wants);
    result out;
    for (const index_t c : l_counts_) out.nnz_l += c;
    for (const index_t c : u_counts_) out.nnz_u += c;
    if (wants.has(want::counts)) {
      out.l_row_counts = l_counts_;
      out.u_row_counts = u_counts_;
    }
    if (wants.has(want::supernodes)) out.supernode_starts = t3_starts_;
    if (wants.has(want::digest) || wants.has(want::pattern)) {
      detail::expand(graph_, panels_, l_counts_, u_counts_, wants, out);
    }
    return out;
  }

 private:
  template <bool Shared>
  void factor(execution& exec) {
    const auto n = static_cast<std::size_t>(a_.n_rows);
    std::vector<detail::panel_eliminator> workers(static_cast<std::size_t>(settings_.threads),
                                                  detail::panel_eliminator(panels_));
    detail::for_each_panel(settings_.threads, panels_.parent, [&](int thread, index_t j) {
      if ((j & 15) == 0) exec.check_deadline();
      detail::panel_eliminator& mine = workers[static_cast<std::size_t>(thread)];
      mine.close(j);
      mine.push<Shared>(j);
    });
    const phase timed(exec, phase_id::compact);
    l_counts_.assign(n, 0);
    u_counts_.assign(n, 0);
    parallel_ranges<index_t>(
        settings_.threads, panels_.panels(), 16, [&](int, index_t begin, index_t end) {
          for (index_t j = begin; j < end; ++j) {
            detail::count_panel<Shared>(graph_, panels_, j, l_counts_, u_counts_);
          }
        });
    if constexpr (detail::counting) {
      auto& totals = exec.counters.totals;
      totals["panels"] = panels_.panels();
      totals["positions"] = panels_.positions();
      for (const auto& w : workers) {
        totals["pushes"] += w.work().pushes;
        totals["push_targets"] += w.work().targets;
        totals["push_positions"] += w.work().words_read;
        totals["push_words"] += w.work().words_or;
      }
    }
  }

  [[nodiscard]] index_t vertex(index_t row) const {
    return graph_.order.empty() ? row : label_[static_cast<std::size_t>(row)];
  }

  pattern_view a_;
  run_settings settings_;
  offset_t limit_ = 0;
  bool by_rows_ = false;
  detail::ordered_graph graph_;
  detail::panel_set panels_;
  detail::position_builder builder_;
  detail::gilbert_peierls rows_;
  std::vector<index_t> l_counts_, u_counts_, t3_starts_, label_;
};

}  // namespace
}  // namespace gsofa

GSOFA_REGISTER_VARIANT({
    .name = "cpu_bitmap_panels",
    .device = "cpu",
    .summary = "elimination over etree panels of up to 64 columns, held as bit masks",
    .citation = "Rose & Tarjan 1978; Liu 1990; Eisenstat & Liu 1992",
    .options = {{.name = "panel_width",
                 .default_value = std::int64_t{64},
                 .help = "most columns of a panel",
                 .minimum = 1,
                 .maximum = 64},
                {.name = "memory_budget_mb",
                 .default_value = std::int64_t{4096},
                 .help = "most MiB for the bit masks and their position lists; where "
                         "chol(A + A^T) needs more, rows are searched as in cpu_gilbert_peierls",
                 .minimum = 0,
                 .maximum = std::int64_t{1} << 30}},
    .multithreaded = true,
    .create = [] { return std::make_unique<gsofa::cpu_bitmap_panels>(); },
});
