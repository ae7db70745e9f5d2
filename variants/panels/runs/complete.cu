// Masks of A -> masks of L + U -> counts, on one device.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include "variants/panels/runs/complete.hpp"
#include "variants/panels/stages_device.hpp"

namespace gsofa::panels {

void mask_completion::prepare(index_t n, const elimination_settings& settings,
                              memory_budget& budget) {
  elimination_.prepare(n, settings, budget);
  refuted_.assign(1, 0);
}

void mask_completion::begin(closing_masks when) {
  closing_ = when;
  refuted_[0] = 0;
}

void mask_completion::complete(const panel_arrays& p, panel_range wave,
                               const counted_results& counted, device_phases& phases,
                               run_context& context) {
  if (wave.begin == wave.end) return;
  const row_results& rows = counted.rows;
  phases.mark(context, phase_id::traverse);
  // The closure counts rows in passing; digests of rows take a pass of their own.
  const bool counts = closes(p) && rows.digests() == nullptr;
  if (closes(p)) {
    close_masks(p, wave, counts ? row_counts{rows.l_counts(), rows.u_counts()} : row_counts{},
                refuted_.data());
  } else {
    elimination_.run({p.view(), p.children(), p.finished(), p.control(), p.longest}, wave);
  }
  if (!counts) {
    phases.mark(context, phase_id::compact);
    count_rows(p.view(), wave, rows);
  }
  if (counted.column_runs == nullptr) return;
  phases.mark(context, phase_id::supernode);
  find_column_runs(p.view(), wave, counted.n, counted.chunk, counted.column_runs);
}

}  // namespace gsofa::panels

#endif
