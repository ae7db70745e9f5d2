// mpi_bitmap_panels: gpu_bitmap_panels_multi with a rank of an MPI job for each GPU. Every rank
// takes a range of the panels; the panels above are joined on rank 0. Exact for every input order,
// and the same result for any number of ranks.
//
// Source: Rose & Tarjan 1978; Liu 1990; Eisenstat & Liu 1992; subtrees to processors: George, Liu &
// Ng 1989. README.md has the algorithm, parts.hpp how panels are divided, gpu_parts.cu why the
// masks of the panels above can be joined.
//
// Rank k of N has part k of N: steps 1 to 6 of gpu_bitmap_panels_multi.cu on GPU number (its rank
// on the node) modulo the GPUs there. All ranks then learn whether every part is done. Rank 0
// receives, one rank after another, what the others have packed of the panels of `top`, and their
// counts, digests and runs of columns in the rows that they hold; it joins `top` and has the
// result. A job of one rank, with MPI or without, does all of it by itself.
//
// Encoding: that of gpu_bitmap_panels; messages are arrays of these as they are.
//
// Fall back: as gpu_bitmap_panels_multi, rank 0 does everything by gpu_bitmap_panels.
//
// Cost: tree and division are not shared; rank 0 receives 20 bytes for a mask of `top` that is not
// empty, and 8 to 20 bytes a row.

#include "variants/panels/gpu_panel_part.hpp"

#if defined(GSOFA_GPU)

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/mpi_context.hpp"
#include "variants/device/devices.hpp"

namespace gsofa::gpu {

namespace {

class mpi_bitmap_panels final : public variant {
 public:
  explicit mpi_bitmap_panels(const multi_tuning& tuning = {}) : tuning_(tuning) {}
  mpi_bitmap_panels(const mpi_bitmap_panels&) = delete;
  mpi_bitmap_panels& operator=(const mpi_bitmap_panels&) = delete;
  ~mpi_bitmap_panels() override { clear(); }

  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
    clear();
    mpi_context& j = mpi_context::world();
    job_.a = a;
    job_.settings = settings;
    job_.tuning = tuning_;
    job_.parts = j.ranks();
    job_.refuted = false;
    j.collective_try([&] {
      const int devices = visible_devices();
      const int ranks_here = j.ranks_per_node()[at(j.node())];
      device_ = (thread_device() + j.node_rank()) % devices;
      const on_device here(device_);
      part_ = std::make_unique<panel_part>();
      top_ = std::make_unique<panel_structure>();
      part_->device = device_;
      part_->prepare(job_, (ranks_here - 1) / devices + 1, j.root());
      context.predicted_bytes["vertex_arrays"] = part_->budget.used() - part_->matrix.bytes();
    });
  }

  void run(run_context& context) override {
    mpi_context& j = mpi_context::world();
    alone_ = nullptr;
    const on_device here(device_);
    bool built = false;
    j.collective_try([&] {
      top_->release();
      built = part_->run(job_, at(j.rank()), context) && !part_->elimination.fell_back();
    });
    bool refuted = false;
    {
      const phase timed(context, phase_id::comm);
      refuted = j.max(std::int64_t{part_->closure.refuted() ? 1 : 0}) != 0;
      built = j.min(std::int64_t{built ? 1 : 0}) != 0;
    }
    if (!refuted && built) {
      join(context);
      std::int64_t found[2] = {0, 0};
      if (j.root()) found[0] = joined_ && !part_->elimination.fell_back() ? 1 : 0;
      if (j.root()) found[1] = part_->closure.refuted() ? 1 : 0;
      const phase timed(context, phase_id::comm);
      j.broadcast_bytes(found, sizeof found);
      built = found[0] != 0;
      refuted = found[1] != 0;
    }
    if (refuted) {
      job_.refuted = true;
      run(context);
    } else if (!built) {
      run_alone(context);
    } else {
      report(context);
    }
  }

  // Rank 0 has the result.
  result collect(want_set wants) override {
    if (alone_ != nullptr) return alone_->collect(wants);
    if (!mpi_context::world().root()) return {};
    const on_device here(device_);
    return part_->rows.collect(wants);
  }

 private:
  /// What a rank has packed, and what it has of the rows that it holds.
  struct message {
    std::vector<std::int64_t> sizes;  ///< of packed_on_host
    std::vector<mask_pair> packed;
    std::vector<panel_structure::row_range> ranges;
    std::vector<std::uint32_t> l, u;
    std::vector<std::uint64_t> digests;
    std::vector<index_t> runs;
  };

  // Of a job of one rank nothing is sent.
  [[nodiscard]] message pack() const {
    message m;
    const mpi_context& j = mpi_context::world();
    if (j.root()) return m;
    packed_on_host top = part_->packed.on_host();
    m.sizes = {top.panels, top.blocks, top.masks};
    m.packed = std::move(top.words);
    const auto held = part_->structure.held_rows();
    m.ranges.assign(held.begin(), held.end());
    if (held.empty()) m.ranges.push_back({0, job_.a.n_rows, 0, 0});
    const auto append = [](auto& to, const auto* from, index_t count) {
      const std::size_t before = to.size();
      to.resize(before + at(count));
      copy_to_host(to.data() + before, from, count);
    };
    for (const auto& r : m.ranges) {
      const index_t count = r.end - r.begin;
      append(m.l, static_cast<const std::uint32_t*>(part_->rows.l_counts() + r.begin), count);
      append(m.u, static_cast<const std::uint32_t*>(part_->rows.u_counts() + r.begin), count);
      if (part_->rows.digests() != nullptr) {
        append(m.digests, static_cast<const std::uint64_t*>(part_->rows.digests() + r.begin),
               count);
      }
      if (job_.wants_runs()) {
        append(m.runs, static_cast<const index_t*>(part_->runs.data() + r.begin), count);
      }
    }
    return m;
  }

  // Steps 7 to 9 on rank 0, which sets joined_: the budget has admitted the joint panels.
  void join(run_context& context) {
    mpi_context& j = mpi_context::world();
    std::vector<message> all;
    {
      const phase timed(context, phase_id::comm);
      message mine;
      j.collective_try([&] { mine = pack(); });
      all.resize(static_cast<std::size_t>(j.ranks()));
      const auto gather = [&](auto message::*what) {
        auto parts = j.gather(mine.*what);
        for (std::size_t k = 0; k < parts.size(); ++k) all[k].*what = std::move(parts[k]);
      };
      gather(&message::sizes);
      gather(&message::packed);
      gather(&message::ranges);
      gather(&message::l);
      gather(&message::u);
      gather(&message::digests);
      gather(&message::runs);
    }
    j.on_root([&] {
      try {
        joined_ = join_top(all, context);
      } catch (const budget_error&) {
        joined_ = false;
      }
    });
  }

  bool join_top(std::vector<message>& all, run_context& context) {
    panel_part& p = *part_;
    p.phases.start(context, phase_id::comm);
    bool built = true;
    if (!p.structure.top().panel.empty()) {
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
      built = top_->build_top(p.structure, parts, job_.limits(), p.budget);
      if (built) p.eliminate(job_, *top_, {0, top_->view().panels}, context);
      // What was received is read until then.
      synchronize();
    }
    if (built) {
      p.phases.mark(context, phase_id::comm);
      for (std::size_t k = 1; k < all.size(); ++k) add(all[k]);
      p.phases.mark(context, phase_id::supernode);
      if (job_.wants_runs()) {
        p.rows.find_supernodes(column_runs{.last = p.runs.data(), .sources = job_.a.n_rows});
      }
    }
    p.phases.finish(context);
    return built;
  }

  // Adds the results of another rank.
  void add(const message& m) {
    const auto with_copy = [&]<class T>(const std::vector<T>& from, std::size_t first,
                                        index_t count, auto&& join) {
      const device_array<T> copy{part_->budget, "fetched", count};
      copy_to_device(copy.data(), from.data() + first, count);
      join(offset_t{count}, static_cast<const T*>(copy.data()));
    };
    row_results& rows = part_->rows;
    std::size_t first = 0;
    for (const auto& r : m.ranges) {
      const index_t count = r.end - r.begin;
      with_copy(m.l, first, count, [&](offset_t rows_here, const std::uint32_t* copy) {
        add_counts(rows_here, copy, rows.l_counts() + r.begin);
      });
      with_copy(m.u, first, count, [&](offset_t rows_here, const std::uint32_t* copy) {
        add_counts(rows_here, copy, rows.u_counts() + r.begin);
      });
      if (!m.digests.empty()) {
        with_copy(m.digests, first, count, [&](offset_t rows_here, const std::uint64_t* copy) {
          add_digests(rows_here, copy, rows.digests() + r.begin);
        });
      }
      if (!m.runs.empty()) {
        with_copy(m.runs, first, count, [&](offset_t rows_here, const index_t* copy) {
          join_runs(rows_here, copy, part_->runs.data() + r.begin);
        });
      }
      first += at(count);
    }
  }

  void report(run_context& context) {
    mpi_context& j = mpi_context::world();
    const panel_structure& own = part_->structure;
    {
      const phase timed(context, phase_id::comm);
      context.derived["positions"] = j.sum(own.positions());
    }
    context.device_peak_bytes = part_->budget.peak();
    context.device_bytes = part_->budget.by_structure();
    context.derived["gpus"] = j.ranks();
    context.derived["panels"] = own.parts().cut.back();
    context.derived["top_panels"] = static_cast<std::int64_t>(own.top().panel.size());
    context.derived["relabelled"] = own.relabelled() ? 1 : 0;
    context.derived["symmetric"] = job_.closes(own) ? 1 : 0;
    context.derived["alone"] = 0;
  }

  // Everything on rank 0.
  void run_alone(run_context& context) {
    top_->release();
    part_->packed = {};
    part_->runs = {};
    part_->structure.release();
    mpi_context::world().on_root([&] {
      const variant_info& one = find_variant("gpu_bitmap_panels");
      run_settings settings = job_.settings;
      settings.options = option_set(one.options);
      for (const char* name : {"panel_width", "memory_budget_mb"}) {
        settings.options.set(one.options, name,
                             std::to_string(job_.settings.options.integer(name)));
      }
      alone_ = one.create();
      {
        const phase timed(context, phase_id::init);
        alone_->prepare(job_.a, settings, context);
      }
      alone_->run(context);
    });
    context.derived["alone"] = 1;
  }

  void clear() {
    const on_device here(device_);
    alone_ = nullptr;
    top_ = nullptr;
    part_ = nullptr;
  }

  multi_tuning tuning_;
  part_job job_;
  int device_ = 0;
  bool joined_ = false;
  std::unique_ptr<panel_part> part_;
  std::unique_ptr<panel_structure> top_;  // of the budget of part_; on rank 0
  std::unique_ptr<variant> alone_;
};

}  // namespace

}  // namespace gsofa::gpu

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
    .create = GSOFA_GPU_CREATE(mpi_bitmap_panels),
});
