// Multilevel nested dissection of A + A^T on a device: the order of cpu_nested_dissection, bit for
// bit, by the same stages (dissection/device/stages.hpp) on all parts of a depth of the separator
// tree at once. find_tree() is the algorithm.

#include "variants/device/gpu_variant.hpp"

#include "common/ordering.hpp"
#include "common/symmetrize.hpp"
#include "variants/device/device_patterns.hpp"
#include "variants/orderings/direction.hpp"
#include "variants/orderings/dissection/device/bisect.hpp"
#include "variants/orderings/dissection/device/gpu_dissection.hpp"

namespace gsofa::orders::device {

#if defined(GSOFA_GPU)

namespace {

/// A part of the pattern: positions first .. of the order hold its vertices, `above` is the first
/// position of the node above.
struct part {
  index_t first = 0;
  index_t above = no_node;
  std::uint64_t key = 0;
};

GSOFA_KERNEL void identity_kernel(index_t n, index_t* values) {
  simt::after_earlier_launches();
  for (offset_t k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k < n; k += offset_t{simt::grid_size()} * simt::block_size()) {
    values[k] = static_cast<index_t>(k);
  }
}

/// The endings of the parts that are the graphs of `whole`, by the separators that win.
std::vector<ending> endings_of(std::span<const part> parts, std::span<const index_t> bisected,
                               std::span<const winner> winners) {
  std::vector<ending> endings(parts.size());
  for (std::size_t k = 0; k < parts.size(); ++k) endings[k].position = parts[k].first;
  for (std::size_t k = 0; k < bisected.size(); ++k) {
    ending& e = endings[at(bisected[k])];
    e.winner = winners[k].first;
    e.weight[0] = winners[k].weight[0];
    e.weight[1] = winners[k].weight[1];
    e.splits = e.weight[0] > 0 && e.weight[1] > 0;
  }
  return endings;
}

/// Finds the tree: appends its nodes and leaves; `order` gets the vertices by position.
void find_tree(const level& root, const dissection_settings& settings, memory_budget& budget,
               timeline& time, index_t* order, std::vector<node>& tree, std::vector<leaf>& leaves) {
  host_link link;
  flow_space flows(budget);
  splitting_space splitting(budget);
  level own[2]{level(budget), level(budget)};
  bisection_stages stages(settings, budget, link, time);
  bisection bisect(settings, stages);
  growing_array<index_t> vertex(budget, "order_vertices");
  growing_array<index_t> next_vertex(budget, "order_vertices");
  const index_t n = root.first.back();
  launch_overlapping(identity_kernel, blocks_for(n), threads_per_block, 0, n, vertex.resize(n));
  std::vector<part> parts{{.first = 0, .above = no_node, .key = mix64(settings.seed + 1)}};
  std::vector<part> next;
  std::vector<std::uint64_t> keys;
  const level* whole = &root;
  for (int depth = 0; !parts.empty(); ++depth) {
    keys.clear();
    for (const part& p : parts) keys.push_back(p.key);
    stages.begin(*whole);
    const std::span<const group> groups = bisect.run(depth, keys);
    std::vector<winner> winners = stages.best(groups);
    if (depth < settings.flows) {
      time.mark("flow");
      minimum_separators(link, flows, *whole, stages.of_level().view.side, bisect.parts(), winners);
    }
    std::vector<ending> endings = endings_of(parts, bisect.parts(), winners);
    time.mark("split");
    level& sides = own[depth % 2];
    split(link, splitting, *whole, stages.of_level().side(), endings, vertex.data(), order, sides,
          next_vertex);
    next.clear();
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const part& p = parts[k];
      const ending& e = endings[k];
      const index_t last = p.first + whole->size_of(static_cast<index_t>(k));
      if (!e.splits) {
        tree.push_back({p.first, last, p.above});
        leaves.push_back({p.first, last});
        continue;
      }
      const index_t start[3] = {p.first, p.first + e.count[0], p.first + e.count[0] + e.count[1]};
      const index_t above = e.count[2] > 0 ? start[2] : p.above;
      if (e.count[2] > 0) tree.push_back({start[2], last, p.above});
      for (const int s : {0, 1}) {
        next.push_back({start[s], above, keyed_random(p.key, 0, static_cast<std::uint64_t>(s))});
      }
    }
    parts.swap(next);
    vertex.swap(next_vertex);
    whole = &sides;
  }
  std::ranges::sort(tree, {}, &node::first);
}

/// The graph of A + A^T: made on the device where the sort of its entries fits the budget, else on
/// the host.
patterns::device_pattern graph_of(const pattern_view& a, memory_budget& budget, timeline& time) {
  if (a.n_rows != a.n_cols) throw input_error("nested dissection: the pattern is not square");
  try {
    time.mark("upload");
    const patterns::device_pattern d = patterns::upload(a, budget);
    time.mark("graph");
    return patterns::symmetric_graph(d.view(), budget);
  } catch (const budget_error&) {
    time.mark("symmetrize");
    return patterns::upload(symmetrized(a, diagonal::drop), budget);
  }
}

/// reduce(); on the host where its arrays do not fit the budget.
reduction reduce_within(patterns::device_pattern& graph, int degree, memory_budget& budget) {
  try {
    return reduce(graph, degree, budget);
  } catch (const budget_error&) {
    reduction r = orders::reduce(patterns::download(graph), degree, 1);
    if (!r.removed.empty()) graph = patterns::upload(r.rest, budget);
    return r;
  }
}

ordering order_by_dissection(const pattern_view& a, const order_settings& settings) {
  memory_budget budget;
  const std::int64_t megabytes = settings.options.integer("memory_budget_mb");
  budget.set_limit(megabytes > 0 ? megabytes << 20 : current_limits().free_bytes / 4 * 3);
  timeline time;
  patterns::device_pattern graph = graph_of(a, budget, time);
  dissection d = dissect(std::move(graph), settings_of(settings), budget, time);
  ordering result;
  result.phases_s = time.finish();
  result.order = std::move(d.order);
  result.separators = std::move(d.tree);
  return result;
}

}  // namespace

dissection dissect(patterns::device_pattern graph, const dissection_settings& search,
                   memory_budget& budget, timeline& time) {
  const bool has_tree = search.tree_levels > 1;
  const pattern given = has_tree ? patterns::download(graph) : pattern{};
  time.mark("reduce");
  const reduction reduced = reduce_within(graph, search.reduce, budget);
  // The host dissects the whole graph, and coarsens through hubs.
  if (has_tree && removes_many(reduced.left(given.n_rows), given.n_rows)) {
    return nested_dissection(given, search);
  }
  time.mark("compress");
  level root(budget);
  const vertex_classes classes =
      compress(graph.n, graph.row_ptr.data(), graph.col_idx.data(), budget, root);
  graph = {};
  const index_t n = root.first.back();
  dissection_settings settings = search;
  if (has_tree) {
    const offset_t total = (n > 0 ? root.total[0] : 0) + std::ssize(classes.isolated);
    settings.leaf_weight = leaf_weight(total, search.tree_levels);
  }
  std::vector<node> tree;
  std::vector<index_t> position(at(n));
  if (n > 0) {
    std::vector<leaf> leaves;
    device_array<index_t> order(budget, "order", n);
    find_tree(root, settings, budget, time, order.data(), tree, leaves);
    time.mark("leaves");
    order_leaves(root, leaves, order.data(), budget, search.stop);
    time.mark("download");
    copy_to_host(position.data(), order.data(), n);
  }
  dissection found =
      expand(reduced, expand(classes, tree, std::move(position), settings.leaf_weight));
  const bool divided = !has_tree || divides(found, search.tree_levels);
  return divided ? found : nested_dissection(given, search);
}

#endif

std::vector<option_spec> search_options() {
  // A device refines more separators in the same time.
  std::vector<option_spec> options = dissection_options({.room = 8, .stride = 2});
  options.push_back(gpu::memory_budget_option());
  return options;
}

namespace {

ordering order_on_gpu([[maybe_unused]] const pattern_view& a,
                      [[maybe_unused]] const order_settings& settings) {
#if defined(GSOFA_GPU)
  // The host rearranges the order: threads are those of the host.
  return order_with_direction(
      a, settings.options.choice("direction"), settings.threads,
      [&](const pattern_view& part) { return order_by_dissection(part, settings); });
#else
  gpu::refuse();
#endif
}

std::vector<option_spec> gpu_options() {
  std::vector<option_spec> options = search_options();
  options.push_back(direction_option());
  return options;
}

}  // namespace

GSOFA_REGISTER_ORDER({
    .name = "gpu_nested_dissection",
    .device = "gpu",
    .summary = "the order of cpu_nested_dissection, on a GPU",
    .citation = "George 1973; Karypis & Kumar 1998",
    .options = gpu_options(),
    .dissects = true,
    .same_as = "cpu_nested_dissection",
    .unavailable = gpu::unavailable,
    .compute = order_on_gpu,
});

}  // namespace gsofa::orders::device
