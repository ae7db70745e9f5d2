// gpu_bitmap_panels_multi: gpu_bitmap_panels on several GPUs of one host. Each GPU eliminates
// subtrees of panels; the first GPU joins and eliminates the panels above them, `top`. Exact for
// every input order, and the same result for any number of GPUs.
//
// Source: Rose & Tarjan 1978; Liu 1990; Eisenstat & Liu 1992; subtrees to processors: George, Liu &
// Ng 1989. ../README.md has the algorithm, ../parts.hpp the division, ../PROOFS.md why the masks of
// `top` can be joined.
//
// Part k, on one host thread and GPU (parts.cu):
//   1 tree and panels of all vertices, division: every part the same
//   2 lists, positions, masks of A, elimination or closure, counts: the panels that the part holds
//   3 pack: column blocks and masks of the panels of `top` that the part holds
// Then the first GPU:
//   4 fetches what the other parts have packed; joins and eliminates `top`, which is a problem
//     by itself; adds the counts of the other parts; finds supernodes from column runs
// Row arrays: each part stores the counts and digests of the panels it completes, and zero for the
// others. Column runs: stored by the completing part, -1 elsewhere. If there are fewer GPUs than
// parts, several parts share a GPU.
//
// Fall-back: gpu_bitmap_panels on the first GPU does everything if the budget of a part does not
// admit the part or `top`, or if update rounds take longer than a search of rows.
//
// Cost: steps 1 and 4 are not shared. Memory of a part: A, the arrays over all vertices, column
// blocks and positions of the panels that it holds.

#include "variants/device/gpu_variant.hpp"

#if defined(GSOFA_GPU)

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/parallel.hpp"
#include "variants/device/devices.hpp"
#include "variants/panels/runs/parts.hpp"

namespace gsofa::panels {

namespace {

class bitmap_panels_multi final : public variant {
 public:
  explicit bitmap_panels_multi(const multi_tuning& tuning) : tuning_(tuning) {}
  bitmap_panels_multi(const bitmap_panels_multi&) = delete;
  bitmap_panels_multi& operator=(const bitmap_panels_multi&) = delete;
  ~bitmap_panels_multi() override { clear(); }

  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
    clear();
    const int devices = visible_devices();
    const auto requested = static_cast<int>(settings.options.integer("gpus"));
    const int parts = requested > 0 ? requested : devices;
    job_ = {a, settings, tuning_, parts};
    const int on_one = (parts - 1) / devices + 1;  // parts on one device share it
    for (int k = 0; k < parts; ++k) {
      devices_.push_back((thread_device() + k) % devices);
      parts_.push_back(std::make_unique<panel_part>());
      const on_device here(devices_.back());
      parts_.back()->prepare(job_, on_one, k == 0);
    }
    top_ = std::make_unique<panel_arrays>();
    // Their first call of the runtime takes a host thread most of a millisecond.
    on_team(team_, parts, [&](int k) {
      const on_device here(devices_[at(k)]);
      synchronize();
    });
    context.derived["gpus"] = parts;
    context.predicted_bytes["vertex_arrays"] = parts_[0]->budget.used() - parts_[0]->matrix.bytes();
  }

  void run(run_context& context) override {
    alone_ = nullptr;
    if (run_parts(tuning_.closing, context)) return;
    // L is not U transposed.
    run_parts(closing_masks::never, context);
  }

  result collect(want_set wants) override {
    if (alone_ != nullptr) return alone_->collect(wants);
    const on_device here(devices_[0]);
    return parts_[0]->rows.collect(wants);
  }

 private:
  // Returns false where closed masks were refuted.
  bool run_parts(closing_masks closing, run_context& context) {
    contexts_.clear();
    contexts_.resize(parts_.size());
    std::vector<char> built(parts_.size(), 0);
    {
      const on_device first(devices_[0]);
      top_->release();
    }
    on_team(team_, static_cast<int>(parts_.size()), [&](int k) {
      const on_device here(devices_[at(k)]);
      run_context& own = contexts_[at(k)];
      own.share_deadline(context);
      own.phases.start(phase_id::schedule);
      built[at(k)] = parts_[at(k)]->run(job_, at(k), closing, own) ? 1 : 0;
      own.phases.stop();
    });
    charge(context);
    bool refuted = false;
    bool all_built = true;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      refuted = refuted || parts_[k]->completion.refuted();
      all_built = all_built && built[k] != 0;
    }
    if (refuted) return false;
    all_built = all_built && join(context);
    if (parts_[0]->completion.refuted()) return false;
    if (!all_built) {
      run_alone(context);
    } else {
      report(context);
    }
    return true;
  }

  // Step 4, on the first device. Returns false if the budget of the device does not admit it.
  bool join(run_context& context) {
    panel_part& first = *parts_[0];
    const on_device here(devices_[0]);
    bool is_done = true;
    first.phases.start(context, phase_id::comm);
    try {
      if (!first.top.panel.empty()) {
        std::vector<packed_panels> fetched;
        std::vector<const packed_panels*> all{&first.packed};
        fetched.reserve(parts_.size());
        for (std::size_t k = 1; k < parts_.size(); ++k) {
          fetched.push_back(parts_[k]->packed.fetched(devices_[k], devices_[0], first.budget));
          all.push_back(&fetched.back());
        }
        first.phases.mark(context, phase_id::schedule);
        is_done = first.join_top(job_, all, *top_, context);
        top_->release();
        first.packed = {};
        first.phases.mark(context, phase_id::comm);
      }
      for (std::size_t k = 1; is_done && k < parts_.size(); ++k) add_results(fetched(k), first);
    } catch (const budget_error&) {
      is_done = false;
    }
    if (is_done && job_.wants_runs()) {
      first.phases.mark(context, phase_id::supernode);
      first.rows.find_supernodes(column_runs{.last = first.runs.data(), .sources = job_.a.n_rows});
    }
    first.phases.finish(context);
    return is_done;
  }

  // The results of part k on the first device.
  part_results fetched(std::size_t k) {
    const panel_part& p = *parts_[k];
    part_results out(p.held_rows(), job_, parts_[0]->budget);
    offset_t to = 0;
    for (const row_range& r : out.ranges) {
      const offset_t count = r.end - r.begin;
      const auto fetch = [&](const auto& there, const auto* from) {
        if (there.size() == 0) return;
        copy_between_devices(there.data() + to, devices_[0], from + r.begin, devices_[k], count);
      };
      fetch(out.l, static_cast<const std::uint32_t*>(p.rows.l_counts()));
      fetch(out.u, static_cast<const std::uint32_t*>(p.rows.u_counts()));
      fetch(out.digests, static_cast<const std::uint64_t*>(p.rows.digests()));
      fetch(out.runs, static_cast<const index_t*>(p.runs.data()));
      to += count;
    }
    return out;
  }

  // Charges the phases of the part that has taken longest, and notes those of all.
  void charge(run_context& context) {
    std::map<std::string, double> slowest;
    double most = -1;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      const auto spent = contexts_[k].phases.seconds();
      double all = 0;
      for (const auto& [name, seconds] : spent) {
        all += seconds;
        context.derived["part" + std::to_string(k) + "_" + name + "_us"] =
            static_cast<std::int64_t>(1e6 * seconds);
      }
      if (all <= most) continue;
      most = all;
      slowest = {spent.begin(), spent.end()};
    }
    for (const phase_id id : {phase_id::schedule, phase_id::traverse, phase_id::compact,
                              phase_id::supernode, phase_id::comm}) {
      if (const auto found = slowest.find(phase_name(id)); found != slowest.end()) {
        context.phases.charge(id, found->second);
      }
    }
  }

  void report(run_context& context) {
    context.check_deadline();
    const panel_part& first = *parts_[0];
    offset_t positions = 0;
    for (const auto& p : parts_) {
      positions += p->panels.positions;
      for (const auto& [structure, bytes] : p->budget.by_structure()) {
        offset_t& most = context.device_bytes[structure];
        most = std::max<offset_t>(most, bytes);
      }
      context.device_peak_bytes = std::max<offset_t>(context.device_peak_bytes, p->budget.peak());
    }
    context.derived["panels"] = first.division.cut.back();
    context.derived["positions"] = positions;
    context.derived["top_panels"] = static_cast<std::int64_t>(first.top.panel.size());
    context.derived["top_positions"] = first.top.panel.empty() ? 0 : top_->positions;
    context.derived["relabelled"] = first.panels.relabelled ? 1 : 0;
    context.derived["symmetric"] = first.completion.closes(first.panels) ? 1 : 0;
    context.derived["alone"] = 0;
  }

  // Everything on the first device.
  void run_alone(run_context& context) {
    release();
    const on_device here(devices_[0]);
    alone_ = run_on_one_device(job_, context);
  }

  // Gives back what runs have taken, each part's on its device.
  void release() {
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      const on_device here(devices_[k]);
      if (k == 0) top_->release();
      parts_[k]->release();
    }
  }

  // Gives back all memory.
  void clear() {
    alone_ = nullptr;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      const on_device here(devices_[k]);
      if (k == 0) top_ = nullptr;
      parts_[k] = nullptr;
    }
    parts_.clear();
    devices_.clear();
  }

  multi_tuning tuning_;
  part_job job_;
  std::vector<int> devices_;  // of each part
  std::vector<std::unique_ptr<panel_part>> parts_;
  std::vector<run_context> contexts_;  // of the parts in the last run
  thread_team team_;                   // a thread for each part
  std::unique_ptr<panel_arrays> top_;  // on the first part's device, of its budget
  std::unique_ptr<variant> alone_;
};

}  // namespace

std::unique_ptr<variant> make_bitmap_panels_multi(const multi_tuning& tuning) {
  return std::make_unique<bitmap_panels_multi>(tuning);
}

}  // namespace gsofa::panels

#endif

GSOFA_REGISTER_VARIANT({
    .name = "gpu_bitmap_panels_multi",
    .device = "gpu",
    .summary = "gpu_bitmap_panels on several GPUs: subtrees to GPUs, panels above joined",
    .citation = "Rose & Tarjan 1978; Liu 1990; George, Liu & Ng 1989",
    .gives = gsofa::want_set(gsofa::want::counts) | gsofa::want::digest | gsofa::want::supernodes,
    .options = {{.name = "gpus",
                 .default_value = std::int64_t{0},
                 .help =
                     "parts of the panels, dealt cyclically to the GPUs; 0: one part for each GPU",
                 .minimum = 0,
                 .maximum = 64,
                 .tested = {"2", "1", "3", "5"}},
                {.name = "panel_width",
                 .default_value = std::int64_t{64},
                 .help = "most columns of a panel",
                 .minimum = 1,
                 .maximum = 64,
                 .tested = {"64", "8", "1", "3", "16", "33", "2", "5"}},
                gsofa::gpu::memory_budget_option()},
    .unavailable = gsofa::gpu::unavailable,
    .create = GSOFA_GPU_MAKE(gsofa::panels::make_bitmap_panels_multi({})),
});
