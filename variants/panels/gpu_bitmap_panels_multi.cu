// gpu_bitmap_panels_multi: gpu_bitmap_panels on several GPUs of one host. Subtrees of panels go to
// GPUs; the panels above them are shared, or joined on the first one. Exact for every input order,
// and the same result for any number of GPUs.
//
// Source: Rose & Tarjan 1978; Liu 1990; Eisenstat & Liu 1992; subtrees to processors: George, Liu &
// Ng 1989. README.md has the algorithm, parts.hpp how panels are divided, gpu_parts.cu why the
// masks of the panels above can be joined; gpu_bitmap_panels.cu is the same on one GPU.
//
// Part k, on one host thread and GPU:
//   1 least neighbours  in a share of A's entries, joined by peer access; then tree and panels:
//                       every part does the same
//   2 division          on the host, from begins and parents of the panels: every part the same
//   3 column blocks, positions, masks of A   of the panels that the part holds
//   4 elimination       of its own panels, or the closure of symmetric patterns
//   5 counts, digests, runs of columns       of its own panels
// Where masks are closed (symmetric patterns from many_vertices on, GPUs that reach each other's
// memory) parts share `top`. In 3 they tell each other the column blocks that add to lists of
// `top`; each panel of `top` is closed and counted by one of the parts that hold it, in turn, with
// what its children on other GPUs add to it by peer access. Whether the tree is the elimination
// tree is counted in the pass of 3, each vertex by the part in whose range it lies. The parts meet
// five times; the device has work while they wait for each other the last time. Else, where panels
// are eliminated:
//   6 pack              column blocks and masks of the panels of `top` that the part holds
// Then the first GPU, when all parts are done:
//   7 fetch             what the others have packed, by peer access or through memory of the host
//   8 join              column blocks and masks of `top`, whose panels are a problem of their own
//   9 elimination, counts, runs of `top`
// In the end the first GPU adds the other parts' counts, and finds supernodes from the runs.
//
// Encoding: that of gpu_bitmap_panels on each GPU, with a byte per panel for what the part has to
// do with it. Of a row, every part has counts (and digest) of the entries in the panels that it
// completes, zero elsewhere; of a column, the run in the part that completes it, -1 elsewhere.
//
// Several parts may lie on one GPU, as where there are fewer than `gpus`: they take turns.
//
// Fall back: gpu_bitmap_panels on the first GPU does everything, with its waves and searches, where
// the budget of a part does not admit the part, or the joint panels, or where update rounds take
// longer than a search of rows.
//
// Cost: tree, panels and 2 are not shared; where panels are eliminated, 7 to 9 are done by one GPU.
// Memory of a part: A, the arrays over all vertices, column blocks and positions of the panels that
// it holds; positions stay until the next run where there is room.

#include "variants/panels/gpu_panel_part.hpp"

#if defined(GSOFA_GPU)

#include <memory>
#include <string>
#include <vector>

#include "common/parallel.hpp"
#include "variants/device/devices.hpp"

namespace gsofa::gpu {

namespace {

class bitmap_panels_multi final : public variant {
 public:
  explicit bitmap_panels_multi(const multi_tuning& tuning = {}) : tuning_(tuning) {}
  bitmap_panels_multi(const bitmap_panels_multi&) = delete;
  bitmap_panels_multi& operator=(const bitmap_panels_multi&) = delete;
  ~bitmap_panels_multi() override { clear(); }

  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
    clear();
    job_.a = a;
    job_.settings = settings;
    job_.tuning = tuning_;
    job_.refuted = false;
    const int devices = visible_devices();
    const auto wanted = static_cast<int>(settings.options.integer("gpus"));
    const int parts = wanted > 0 ? wanted : devices;
    job_.parts = parts;
    for (int k = 0; k < parts; ++k) {
      parts_.push_back(std::make_unique<panel_part>());
      parts_.back()->device = (thread_device() + k) % devices;
    }
    // Of parts on one device each has a share.
    const int on_one = (parts - 1) / devices + 1;
    top_ = std::make_unique<panel_structure>();
    for (const auto& p : parts_) {
      const on_device here(parts_[0]->device);
      use_thread_device(p->device);
      p->prepare(job_, on_one, p == parts_[0]);
    }
    // Their first call of the runtime takes a host thread most of a millisecond.
    on_team(team_, parts, [&](int k) {
      const on_device here(parts_[at(k)]->device);
      synchronize();
    });
    context.derived["gpus"] = parts;
    context.predicted_bytes["vertex_arrays"] = parts_[0]->budget.used() - parts_[0]->matrix.bytes();
  }

  void run(run_context& context) override {
    alone_ = nullptr;
    on_team(team_, static_cast<int>(parts_.size()), [&](int k) {
      panel_part& p = *parts_[at(k)];
      const on_device here(p.device);
      p.context = run_context{};
      p.context.share_deadline(context);
      p.context.phases.start(phase_id::schedule);
      if (k == 0) top_->release();
      p.built = p.run(job_, at(k), p.context);
      p.context.phases.stop();
    });
    charge(context);
    bool built = true;
    bool fell_back = false;
    bool refuted = false;
    for (const auto& p : parts_) {
      built = built && p->built;
      fell_back = fell_back || p->elimination.fell_back();
      refuted = refuted || p->closure.refuted();
    }
    if (!refuted) {
      built = built && !fell_back && join(context);
      fell_back = parts_[0]->elimination.fell_back();
      refuted = parts_[0]->closure.refuted();
    }
    if (refuted) {
      job_.refuted = true;
      run(context);
    } else if (!built || fell_back) {
      run_alone(context);
    } else {
      report(context);
    }
  }

  result collect(want_set wants) override {
    if (alone_ != nullptr) return alone_->collect(wants);
    const on_device here(parts_[0]->device);
    return parts_[0]->rows.collect(wants);
  }

 private:
  // Steps 7 to 9. Returns false where the budget does not admit the joint panels.
  bool join(run_context& context) {
    panel_part& first = *parts_[0];
    const on_device here(first.device);
    first.phases.start(context, phase_id::comm);
    try {
      if (!first.structure.top().panel.empty() && !join_top(context)) {
        first.phases.finish(context);
        return false;
      }
      first.phases.mark(context, phase_id::comm);
      for (std::size_t k = 1; k < parts_.size(); ++k) add(*parts_[k]);
    } catch (const budget_error&) {
      first.phases.finish(context);
      return false;
    }
    first.phases.mark(context, phase_id::supernode);
    if (job_.settings.wants.has(want::supernodes)) {
      first.rows.find_supernodes(column_runs{.last = first.runs.data(), .sources = job_.a.n_rows});
    }
    first.phases.finish(context);
    return true;
  }

  bool join_top(run_context& context) {
    panel_part& first = *parts_[0];
    std::vector<packed_panels> fetched;
    fetched.reserve(parts_.size());
    std::vector<const packed_panels*> all{&first.packed};
    for (std::size_t k = 1; k < parts_.size(); ++k) {
      fetched.push_back(parts_[k]->packed.fetched(parts_[k]->device, first.device, first.budget));
      all.push_back(&fetched.back());
    }
    first.phases.mark(context, phase_id::schedule);
    if (!top_->build_top(first.structure, all, job_.limits(), first.budget)) return false;
    first.eliminate(job_, *top_, {0, top_->view().panels}, context);
    // What was fetched is read until then.
    synchronize();
    return true;
  }

  // Calls join(array, count) with a copy of an array of another part on the first device.
  template <class T, class Join>
  void with_copy(const panel_part& p, const T* from, offset_t count, Join&& join) {
    const device_array<T> copy{parts_[0]->budget, "fetched", count};
    copy_between_devices(copy.data(), parts_[0]->device, from, p.device, count);
    join(static_cast<const T*>(copy.data()), count);
  }

  // Adds the results of another part to those of the first one, in some rows.
  void add(const panel_part& p, index_t begin, index_t end) {
    const row_results& to = parts_[0]->rows;
    const offset_t rows = offset_t{end} - begin;
    const auto add_rows = [&](const std::uint32_t* from, std::uint32_t* sums) {
      with_copy(p, from + begin, rows, [&](const std::uint32_t* there, offset_t count) {
        add_counts(count, there, sums + begin);
      });
    };
    add_rows(p.rows.l_counts(), to.l_counts());
    add_rows(p.rows.u_counts(), to.u_counts());
    if (job_.settings.wants.has(want::digest)) {
      const std::uint64_t* const from = p.rows.digests() + begin;
      with_copy(p, from, rows, [&](const std::uint64_t* there, offset_t count) {
        add_digests(count, there, to.digests() + begin);
      });
    }
    if (job_.settings.wants.has(want::supernodes)) {
      const index_t* const from = p.runs.data() + begin;
      with_copy(p, from, rows, [&](const index_t* there, offset_t count) {
        join_runs(count, there, parts_[0]->runs.data() + begin);
      });
    }
  }

  void add(const panel_part& p) {
    for (const panel_structure::row_range& r : p.structure.held_rows()) add(p, r.begin, r.end);
    if (p.structure.held_rows().empty()) add(p, 0, job_.a.n_rows);
  }

  // Charges the phases of the part that has taken longest, and notes those of all.
  void charge(run_context& context) {
    constexpr phase_id phases[] = {phase_id::schedule, phase_id::traverse, phase_id::compact,
                                   phase_id::supernode, phase_id::comm};
    const panel_part* slowest = nullptr;
    double most = -1;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      const auto spent = parts_[k]->context.phases.seconds();
      double all = 0;
      for (const auto& [name, seconds] : spent) {
        all += seconds;
        context.derived["part" + std::to_string(k) + "_" + name + "_us"] =
            static_cast<std::int64_t>(1e6 * seconds);
      }
      if (all <= most) continue;
      most = all;
      slowest = parts_[k].get();
    }
    const auto spent = slowest->context.phases.seconds();
    for (const phase_id id : phases) {
      if (const auto found = spent.find(phase_name(id)); found != spent.end()) {
        context.phases.charge(id, found->second);
      }
    }
  }

  void report(run_context& context) {
    context.check_deadline();
    const panel_structure& one = parts_[0]->structure;
    offset_t positions = 0;
    for (const auto& p : parts_) {
      positions += p->structure.positions();
      for (const auto& [structure, bytes] : p->budget.by_structure()) {
        offset_t& most = context.device_bytes[structure];
        most = std::max<offset_t>(most, bytes);
      }
      context.device_peak_bytes = std::max<offset_t>(context.device_peak_bytes, p->budget.peak());
    }
    context.derived["panels"] = one.parts().cut.back();
    context.derived["positions"] = positions;
    context.derived["top_panels"] = static_cast<std::int64_t>(one.top().panel.size());
    context.derived["top_positions"] = one.top().panel.empty() ? 0 : top_->positions();
    context.derived["relabelled"] = one.relabelled() ? 1 : 0;
    context.derived["symmetric"] = job_.closes(one) ? 1 : 0;
    context.derived["alone"] = 0;
  }

  // Everything on the first device.
  void run_alone(run_context& context) {
    const int device = parts_[0]->device;
    {
      const on_device here(device);
      top_->release();
    }
    for (const auto& p : parts_) {
      const on_device there(p->device);
      p->packed = {};
      p->runs = {};
      p->structure.release();
    }
    const on_device here(device);
    const variant_info& one = find_variant("gpu_bitmap_panels");
    run_settings settings = job_.settings;
    settings.options = option_set(one.options);
    for (const char* name : {"panel_width", "memory_budget_mb"}) {
      settings.options.set(one.options, name, std::to_string(job_.settings.options.integer(name)));
    }
    alone_ = one.create();
    {
      const phase timed(context, phase_id::init);
      alone_->prepare(job_.a, settings, context);
    }
    alone_->run(context);
    context.derived["alone"] = 1;
  }

  // Gives back all memory, each part's on its device.
  void clear() {
    alone_ = nullptr;
    if (!parts_.empty()) {
      const on_device here(parts_[0]->device);
      top_ = nullptr;
    }
    for (auto& p : parts_) {
      const on_device here(p->device);
      p = nullptr;
    }
    parts_.clear();
  }

  multi_tuning tuning_;
  part_job job_;
  std::vector<std::unique_ptr<panel_part>> parts_;
  thread_team team_;                      // a thread for each part
  std::unique_ptr<panel_structure> top_;  // on the first part's device, of its budget
  std::unique_ptr<variant> alone_;
};

}  // namespace

std::unique_ptr<variant> make_bitmap_panels_multi(const multi_tuning& tuning) {
  return std::make_unique<bitmap_panels_multi>(tuning);
}

}  // namespace gsofa::gpu

#endif

GSOFA_REGISTER_VARIANT({
    .name = "gpu_bitmap_panels_multi",
    .device = "gpu",
    .summary = "gpu_bitmap_panels on several GPUs: subtrees to GPUs, panels above joined",
    .citation = "Rose & Tarjan 1978; Liu 1990; George, Liu & Ng 1989",
    .gives = gsofa::want_set(gsofa::want::counts) | gsofa::want::digest | gsofa::want::supernodes,
    .options = {{.name = "gpus",
                 .default_value = std::int64_t{0},
                 .help = "parts of the panels, on all GPUs in turn; 0: one for each GPU",
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
    .create = GSOFA_GPU_CREATE(bitmap_panels_multi),
});
