// gpu_full_analysis: the complete analysis of a matrix on one GPU, from its rows in device memory
// to L and U: sorted rows, nested dissection, a postorder of the elimination tree, and
// gpu_bitmap_panels on the resulting pattern. Only the plan of the dissection and the order (n
// integers) pass through the host. The variant orders the matrix itself: its results belong to the
// pattern P A P^T and include P. A zero on the diagonal is an error; the host matches rows.
//
// gpu_analysis is only the order, for use with any variant: gpu_nested_dissection followed by the
// postorder, which changes neither the fill nor the operations.
//
// Source: George 1973; Karypis & Kumar 1998; Liu 1990; Rose & Tarjan 1978.
//
// Cost before gpu_bitmap_panels: gpu_nested_dissection, and one radix sort of the entries each for
// the sorted rows, the graph and two permutations. Memory: the maximum of these sorts (32 bytes per
// entry of A for the graph, in addition to A) and of the dissection.

#include "variants/device/gpu_variant.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include "common/mask_pattern.hpp"
#include "common/ordering.hpp"
#include "variants/analysis/gpu_analysis.hpp"
#include "variants/orderings/dissection/device/gpu_dissection.hpp"

#if defined(GSOFA_GPU)

namespace gsofa::gpu {

namespace analysis {

namespace {

device_array<index_t> put(const std::vector<index_t>& values, memory_budget& budget) {
  device_array<index_t> out(budget, "order", static_cast<offset_t>(values.size()));
  copy_to_device(out.data(), values.data(), out.size());
  return out;
}

/// Dissects a square pattern with sorted rows and puts a postorder behind the order.
ordered dissected(const rows_view& a, const orders::dissection_settings& search,
                  memory_budget& budget, timeline& time) {
  time.mark("graph");
  const orders::dissection d =
      orders::device::dissect(symmetric_graph(a, budget), search, budget, time);
  time.mark("permute");
  const device_array<index_t> order = put(d.order, budget);
  const device_pattern moved = permuted(a, order.data(), order.data(), budget);
  time.mark("postorder");
  device_array<index_t> post;
  {
    const device_array<index_t> parent = elimination_tree(moved.view(), budget);
    post = postorder(a.n, parent.data(), budget);
  }
  ordered out;
  out.order = composed(a.n, order.data(), post.data(), budget);
  time.mark("permute");
  out.a = permuted(moved.view(), post.data(), post.data(), budget);
  return out;
}

}  // namespace

ordered analyze(const rows_view& raw, const orders::dissection_settings& search,
                memory_budget& budget, timeline& time) {
  time.mark("sort");
  const device_pattern a = sorted_rows(raw, budget);
  if (missing_diagonal(a.view(), budget) > 0) {
    throw error(exit_code::run_failed, "the diagonal has zeros; the host matches rows");
  }
  return dissected(a.view(), search, budget, time);
}

}  // namespace analysis

namespace {

ordering order_by_analysis(const pattern_view& a, const order_settings& settings) {
  memory_budget budget;
  const std::int64_t megabytes = settings.options.integer("memory_budget_mb");
  budget.set_limit(megabytes > 0 ? megabytes << 20 : current_limits().free_bytes / 4 * 3);
  timeline time;
  time.mark("upload");
  const analysis::device_pattern d = analysis::upload(a, budget);
  const analysis::ordered result =
      analysis::dissected(d.view(), orders::settings_of(settings), budget, time);
  time.mark("download");
  ordering out;
  out.order.resize(at(a.n_rows));
  copy_to_host(out.order.data(), result.order.data(), a.n_rows);
  out.phases_s = time.finish();
  return out;
}

/// The phase of a run that a step of analyze() belongs to; all others find the order.
phase_id phase_of(const std::string& step) {
  if (step == "sort") return phase_id::sort;
  return step == "permute" || step == "postorder" ? phase_id::permute : phase_id::order;
}

class whole_analysis final : public variant,
                             public takes_foreign_rows,
                             public leaves_device_results,
                             public gives_masks {
 public:
  void prepare(const pattern_view& a, const run_settings& settings, run_context&) override {
    start(settings);
    uploaded_ = analysis::upload(a, budget_);
    rows_ = uploaded_.view();
  }
  void prepare_foreign(const foreign_rows& a, const run_settings& settings, run_context&) override {
    start(settings);
    analysis::adopted in = analysis::adopt(a, budget_);
    uploaded_ = std::move(in.copy);
    rows_ = in.rows;
  }
  pattern fetch(const foreign_rows& a) override {
    memory_budget budget;
    budget.set_limit(current_limits().free_bytes);
    const analysis::adopted in = analysis::adopt(a, budget);
    return analysis::download(in.rows);
  }

  void run(run_context& context) override {
    clear();
    {
      const phase timed(context, phase_id::order);
      search_.stop = context.stop;
      search_.run = &context;
      timeline time;
      found_ = analysis::analyze(rows_, search_, budget_, time);
      for (const auto& [step, seconds] : time.finish()) {
        context.phases.charge(phase_of(step), seconds);
      }
    }
    context.derived["entries"] = found_.a.nnz;
    context.check_deadline();
    factorize(context);
  }

  result collect(want_set wants) override {
    result out = factorization_->collect(wants);
    out.of_own_order = true;
    out.row_order = out.col_order = to_host(found_.order);
    return out;
  }

  supernodal_pattern supernodal(const supernode_rule& rule) override {
    return factorization_->supernodal(rule);
  }
  void supernodal_into(const supernode_rule& rule, supernodal_pattern& out) override {
    factorization_->supernodal_into(rule, out);
  }
  bool masks_into(mask_pattern& out) override {
    return dynamic_cast<gives_masks&>(*factorization_).masks_into(out);
  }
  void rows_on_device(const device_destination& to, device_rows& l, device_rows& u) override {
    dynamic_cast<leaves_device_results&>(*factorization_).rows_on_device(to, l, u);
  }
  device_supernodal_pattern supernodal_on_device(const supernode_rule& rule,
                                                 const device_destination& to) override {
    return dynamic_cast<leaves_device_results&>(*factorization_).supernodal_on_device(rule, to);
  }
  device_supernodal_pattern expanded_on_device(const supernode_rule& rule,
                                               std::span<const column_range> of,
                                               const device_destination& to,
                                               std::vector<std::uint32_t>& added) override {
    return dynamic_cast<leaves_device_results&>(*factorization_)
        .expanded_on_device(rule, of, to, added);
  }

 private:
  void start(const run_settings& settings) {
    clear();
    uploaded_ = {};
    settings_ = settings;
    search_ = orders::settings_of({.options = settings.options});
    const std::int64_t megabytes = settings.options.integer("memory_budget_mb");
    budget_.set_limit(megabytes > 0 ? megabytes << 20 : current_limits().free_bytes / 4 * 3);
  }
  void clear() {
    factorization_ = nullptr;
    found_ = {};
  }

  void factorize(run_context& context) {
    const variant_info& panels = find_variant("gpu_bitmap_panels");
    run_settings settings = settings_;
    settings.options = option_set(panels.options);
    // An analysis has a structure, also where counts alone are asked for.
    settings.options.set(panels.options, "counts", "panels");
    const offset_t megabytes = (budget_.limit() - budget_.used()) >> 20;
    settings.options.set(panels.options, "memory_budget_mb",
                         std::to_string(std::clamp<offset_t>(megabytes, 1, 1 << 20)));
    factorization_ = panels.create();
    {
      const phase timed(context, phase_id::init);
      dynamic_cast<takes_device_rows&>(*factorization_)
          .prepare_device(found_.a.view(), settings, context);
    }
    factorization_->run(context);
    // The factorization counts its own memory only.
    context.device_peak_bytes =
        std::max(budget_.peak(), budget_.used() + context.device_peak_bytes);
    for (const auto& [structure, bytes] : budget_.by_structure()) {
      offset_t& most = context.device_bytes[structure];
      most = std::max(most, bytes);
    }
  }

  static std::vector<index_t> to_host(const device_array<index_t>& order) {
    std::vector<index_t> out(static_cast<std::size_t>(order.size()));
    copy_to_host(out.data(), order.data(), order.size());
    return out;
  }

  run_settings settings_;
  orders::dissection_settings search_;
  memory_budget budget_;
  analysis::device_pattern uploaded_;
  device_rows rows_;
  analysis::ordered found_;
  std::unique_ptr<variant> factorization_;
};

}  // namespace

}  // namespace gsofa::gpu

#endif

namespace gsofa {

namespace {

ordering analysis_order([[maybe_unused]] const pattern_view& a,
                        [[maybe_unused]] const order_settings& settings) {
#if defined(GSOFA_GPU)
  return gpu::order_by_analysis(a, settings);
#else
  gpu::refuse();
#endif
}

}  // namespace

GSOFA_REGISTER_ORDER({
    .name = "gpu_analysis",
    .device = "gpu",
    .summary = "gpu_nested_dissection followed by a postorder, from the entries of A, on a GPU",
    .citation = "George 1973; Karypis & Kumar 1998; Liu 1990",
    .options = orders::device::search_options(),
    .unavailable = gpu::unavailable,
    .compute = analysis_order,
});

GSOFA_REGISTER_VARIANT({
    .name = "gpu_full_analysis",
    .device = "gpu",
    .summary = "nested dissection, postorder and gpu_bitmap_panels, all on one GPU",
    .citation = "George 1973; Karypis & Kumar 1998; Rose & Tarjan 1978; Liu 1990",
    .options = orders::device::search_options(),
    .supernodal = true,
    .orders = true,
    .unavailable = gpu::unavailable,
    .create = GSOFA_GPU_CREATE(whole_analysis),
});

}  // namespace gsofa
