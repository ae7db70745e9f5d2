// mpi_bitmap_panels: gpu_bitmap_panels_multi with a rank of an MPI job for each GPU. Every rank
// takes a range of the panels; the panels above are joined on rank 0. Exact for every input order,
// and the same result for any number of ranks.
//
// Source: Rose & Tarjan 1978; Liu 1990; Eisenstat & Liu 1992; subtrees to processors: George, Liu &
// Ng 1989. ../README.md has the algorithm, ../parts.hpp the division, ../PROOFS.md why the masks of
// the panels above can be joined.
//
// Rank k of N has part k of N: steps 1 to 3 of gpu_bitmap_panels_multi.cu on GPU number (its rank
// on the node) modulo the GPUs there. All ranks then learn whether every part is done. Rank 0
// receives, from one rank after another, the packed panels of `top`, and the counts, digests and
// column runs of the rows that the rank holds. Rank 0 joins `top` and has the result. A job of one
// rank, with MPI or without, does all steps itself.
//
// Encoding: as in gpu_bitmap_panels; messages are these arrays, unchanged.
//
// Fall-back: as gpu_bitmap_panels_multi, rank 0 does everything by gpu_bitmap_panels.
//
// Cost: tree and division are not shared; rank 0 receives 20 bytes for a mask of `top` that is not
// empty, and 8 to 20 bytes a row.

#include "variants/device/gpu_variant.hpp"

#if defined(GSOFA_GPU)

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/mpi_context.hpp"
#include "variants/device/devices.hpp"
#include "variants/panels/runs/parts.hpp"

namespace gsofa::panels {

namespace {

/// What a rank sends: the panels of `top` that it has packed, and its results in the rows that it
/// holds, as in part_results.
struct part_message {
  std::vector<std::int64_t> sizes;  ///< of packed_on_host
  std::vector<mask_pair> packed;
  std::vector<row_range> ranges;
  std::vector<std::uint32_t> l, u;
  std::vector<std::uint64_t> digests;
  std::vector<index_t> runs;
};

part_message message_of(const panel_part& part) {
  part_message m;
  packed_on_host top = part.packed.on_host();
  m.sizes = {top.panels, top.blocks, top.masks};
  m.packed = std::move(top.words);
  m.ranges.assign(part.held_rows().begin(), part.held_rows().end());
  const auto append = [](auto& to, const auto* from, const row_range& r) {
    if (from == nullptr) return;
    const std::size_t before = to.size();
    to.resize(before + at(r.end - r.begin));
    copy_to_host(to.data() + before, from + r.begin, r.end - r.begin);
  };
  for (const row_range& r : m.ranges) {
    append(m.l, static_cast<const std::uint32_t*>(part.rows.l_counts()), r);
    append(m.u, static_cast<const std::uint32_t*>(part.rows.u_counts()), r);
    append(m.digests, static_cast<const std::uint64_t*>(part.rows.digests()), r);
    append(m.runs, static_cast<const index_t*>(part.runs.data()), r);
  }
  return m;
}

part_results uploaded(const part_message& m, const part_job& job, memory_budget& budget) {
  part_results out(m.ranges, job, budget);
  const auto upload = [](const auto& to, const auto& from) {
    copy_to_device(to.data(), from.data(), static_cast<offset_t>(from.size()));
  };
  upload(out.l, m.l);
  upload(out.u, m.u);
  if (out.digests.size() > 0) upload(out.digests, m.digests);
  if (out.runs.size() > 0) upload(out.runs, m.runs);
  return out;
}

class mpi_bitmap_panels final : public variant {
 public:
  mpi_bitmap_panels() = default;
  mpi_bitmap_panels(const mpi_bitmap_panels&) = delete;
  mpi_bitmap_panels& operator=(const mpi_bitmap_panels&) = delete;
  ~mpi_bitmap_panels() override { clear(); }

  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
    clear();
    mpi_context& j = mpi_context::world();
    job_ = {a, settings, {}, j.ranks()};
    j.collective_try([&] {
      const int devices = visible_devices();
      const int ranks_here = j.ranks_per_node()[at(j.node())];
      device_ = (thread_device() + j.node_rank()) % devices;
      const on_device here(device_);
      part_ = std::make_unique<panel_part>();
      top_ = std::make_unique<panel_arrays>();
      part_->prepare(job_, (ranks_here - 1) / devices + 1, j.root());
      context.predicted_bytes["vertex_arrays"] = part_->budget.used() - part_->matrix.bytes();
    });
  }

  void run(run_context& context) override {
    alone_ = nullptr;
    const on_device here(device_);
    if (run_parts(closing_masks::where_symmetric, context)) return;
    // L is not U transposed.
    run_parts(closing_masks::never, context);
  }

  // Rank 0 has the result.
  result collect(want_set wants) override {
    if (alone_ != nullptr) return alone_->collect(wants);
    if (!mpi_context::world().root()) return {};
    const on_device here(device_);
    return part_->rows.collect(wants);
  }

 private:
  // Returns false on all ranks where closed masks were refuted on one.
  bool run_parts(closing_masks closing, run_context& context) {
    mpi_context& j = mpi_context::world();
    bool built = false;
    j.collective_try([&] {
      top_->release();
      built = part_->run(job_, at(j.rank()), closing, context);
    });
    // Every rank learns the worst of all.
    const auto on_all = [&](bool& is_built, bool& is_refuted) {
      const phase timed(context, phase_id::comm);
      is_refuted = j.max(std::int64_t{is_refuted ? 1 : 0}) != 0;
      is_built = j.min(std::int64_t{is_built ? 1 : 0}) != 0;
    };
    bool refuted = part_->completion.refuted();
    on_all(built, refuted);
    if (!refuted && built) {
      built = join(context);
      if (j.root()) refuted = part_->completion.refuted();
      on_all(built, refuted);
    }
    if (refuted) return false;
    if (built) {
      report(context);
    } else {
      run_alone(context);
    }
    return true;
  }

  // Step 4, on rank 0. Returns false on rank 0 if its budget does not admit the step.
  bool join(run_context& context) {
    mpi_context& j = mpi_context::world();
    std::vector<part_message> all(static_cast<std::size_t>(j.ranks()));
    {
      const phase timed(context, phase_id::comm);
      part_message mine;
      j.collective_try([&] {
        if (!j.root()) mine = message_of(*part_);
      });
      const auto gather = [&](auto part_message::*what) {
        auto parts = j.gather(mine.*what);
        for (std::size_t k = 0; k < parts.size(); ++k) all[k].*what = std::move(parts[k]);
      };
      gather(&part_message::sizes);
      gather(&part_message::packed);
      gather(&part_message::ranges);
      gather(&part_message::l);
      gather(&part_message::u);
      gather(&part_message::digests);
      gather(&part_message::runs);
    }
    bool joined = true;
    j.on_root([&] {
      part_->phases.start(context, phase_id::comm);
      try {
        joined = join_messages(all, context);
      } catch (const budget_error&) {
        joined = false;
      }
      part_->phases.finish(context);
    });
    return joined;
  }

  bool join_messages(std::vector<part_message>& all, run_context& context) {
    panel_part& p = *part_;
    if (!p.top.panel.empty()) {
      std::vector<packed_panels> others;
      others.reserve(all.size());
      std::vector<const packed_panels*> parts{&p.packed};
      for (std::size_t k = 1; k < all.size(); ++k) {
        const auto& s = all[k].sizes;
        others.emplace_back(
            packed_on_host{static_cast<index_t>(s[0]), s[1], s[2], std::move(all[k].packed)},
            p.budget);
        parts.push_back(&others.back());
      }
      p.phases.mark(context, phase_id::schedule);
      const bool joined = p.join_top(job_, parts, *top_, context);
      top_->release();
      p.packed = {};
      if (!joined) return false;
      p.phases.mark(context, phase_id::comm);
    }
    for (std::size_t k = 1; k < all.size(); ++k) add_results(uploaded(all[k], job_, p.budget), p);
    if (job_.wants_runs()) {
      p.phases.mark(context, phase_id::supernode);
      p.rows.find_supernodes(column_runs{.last = p.runs.data(), .sources = job_.a.n_rows});
    }
    return true;
  }

  void report(run_context& context) {
    mpi_context& j = mpi_context::world();
    {
      const phase timed(context, phase_id::comm);
      context.derived["positions"] = j.sum(part_->panels.positions);
    }
    context.device_peak_bytes = part_->budget.peak();
    context.device_bytes = part_->budget.by_structure();
    context.derived["gpus"] = j.ranks();
    context.derived["panels"] = part_->division.cut.back();
    context.derived["top_panels"] = static_cast<std::int64_t>(part_->top.panel.size());
    context.derived["relabelled"] = part_->panels.relabelled ? 1 : 0;
    context.derived["symmetric"] = part_->completion.closes(part_->panels) ? 1 : 0;
    context.derived["alone"] = 0;
  }

  // Everything on rank 0.
  void run_alone(run_context& context) {
    top_->release();
    part_->release();
    mpi_context::world().on_root([&] { alone_ = run_on_one_device(job_, context); });
    context.derived["alone"] = 1;
  }

  void clear() {
    const on_device here(device_);
    alone_ = nullptr;
    top_ = nullptr;
    part_ = nullptr;
  }

  part_job job_;
  int device_ = 0;
  std::unique_ptr<panel_part> part_;
  std::unique_ptr<panel_arrays> top_;  // of the budget of part_; on rank 0
  std::unique_ptr<variant> alone_;
};

}  // namespace

}  // namespace gsofa::panels

#endif

GSOFA_REGISTER_VARIANT({
    .name = "mpi_bitmap_panels",
    .device = "mpi",
    .summary = "gpu_bitmap_panels with a rank for each GPU: subtrees to ranks, the rest on rank 0",
    .citation = "Rose & Tarjan 1978; Liu 1990; George, Liu & Ng 1989",
    .gives = gsofa::want_set(gsofa::want::counts) | gsofa::want::digest | gsofa::want::supernodes,
    .options = {{.name = "panel_width",
                 .default_value = std::int64_t{64},
                 .help = "most columns of a panel",
                 .minimum = 1,
                 .maximum = 64,
                 .tested = {"64", "8", "1", "3", "16", "33", "2", "5"}},
                gsofa::gpu::memory_budget_option()},
    .distributed = true,
    .unavailable = gsofa::gpu::unavailable,
    .create = GSOFA_GPU_MAKE(std::make_unique<gsofa::panels::mpi_bitmap_panels>()),
});
