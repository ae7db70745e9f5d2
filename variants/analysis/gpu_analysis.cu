// The analysis of a matrix on the device, up to its symbolic factorization. As an order, whose
// inputs are patterns on the host: the order of gpu_nested_dissection followed by a postorder of
// the elimination tree, which changes neither the fill nor the operations.
//
// Cost: that of gpu_nested_dissection, and a radix sort of the entries for each of the sorted rows,
// the graph and two permutations. Memory: the largest of these sorts, 32 bytes an entry of A for
// the graph beside A, or what dissection takes.

#include "variants/device/gpu_variant.hpp"

#include "common/ordering.hpp"
#include "variants/analysis/gpu_analysis.hpp"
#include "variants/orderings/gpu_dissection.hpp"

#if defined(GSOFA_GPU)

namespace gsofa::gpu {

namespace analysis {

namespace {

device_array<index_t> put(const std::vector<index_t>& values, memory_budget& budget) {
  device_array<index_t> out(budget, "order", static_cast<offset_t>(values.size()));
  copy_to_device(out.data(), values.data(), out.size());
  return out;
}

/// A pattern in its new order, and the symmetric permutation that leads to it.
struct ordered {
  device_array<index_t> order;
  device_pattern a;
};

/// Dissects a square pattern with sorted rows and puts a postorder behind the order.
ordered dissected(const rows_view& a, const orderings::dissection_settings& search,
                  memory_budget& budget, timeline& time) {
  time.mark("graph");
  device_pattern graph = symmetric_graph(a, budget);
  const orderings::dissection d = dissection::dissect(
      graph.n, std::move(graph.row_ptr), std::move(graph.col_idx), search, budget, time);
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

analyzed analyze(const rows_view& raw, const orderings::dissection_settings& search,
                 memory_budget& budget, timeline& time) {
  analyzed out;
  time.mark("sort");
  device_pattern a = sorted_rows(raw, budget);
  time.mark("match");
  matching m = maximum_matching(a.view(), budget);
  out.structural_rank = m.structural_rank;
  out.deficient_rows = std::move(m.deficient_rows);
  if (out.structural_rank < a.n) return out;
  if (missing_diagonal(a.view(), budget) > 0) {
    const device_array<index_t> columns = put(identity_order(a.n), budget);
    a = permuted(a.view(), m.row_of_col.data(), columns.data(), budget);
  }
  // Where the diagonal had no zero the matching is the diagonal.
  ordered result = dissected(a.view(), search, budget, time);
  out.row_order = composed(a.n, m.row_of_col.data(), result.order.data(), budget);
  out.col_order = std::move(result.order);
  out.a = std::move(result.a);
  return out;
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
      analysis::dissected(d.view(), dissection::search_of(settings), budget, time);
  time.mark("download");
  ordering out;
  out.order.resize(at(a.n_rows));
  copy_to_host(out.order.data(), result.order.data(), a.n_rows);
  out.phases_s = time.finish();
  return out;
}

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
    .summary = "gpu_nested_dissection and a postorder, from the entries of A on, on a GPU",
    .citation = "George 1973; Karypis & Kumar 1998; Liu 1990",
    .options = gpu::dissection::search_options(),
    .unavailable = gpu::unavailable,
    .compute = analysis_order,
});

}  // namespace gsofa
