// Orders in groups. The graph that remains after the elimination of a group does not depend on the
// order of that group, so that a dissection of the first group takes the order of later groups from
// minimum fill.

#include "variants/orderings/groups.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/symmetrize.hpp"
#include "variants/orderings/choose.hpp"
#include "variants/orderings/dissection/nested_dissection.hpp"
#include "variants/orderings/minimum_degree.hpp"
#include "variants/orderings/ordered_tree.hpp"

namespace gsofa::orders {

namespace {

// The graph of some vertices of s, ascending.
pattern graph_of_some(const pattern_view& s, std::span<const index_t> vertices) {
  std::vector<index_t> number(at(s.n_rows), -1);
  for (std::size_t k = 0; k < vertices.size(); ++k)
    number[at(vertices[k])] = static_cast<index_t>(k);
  pattern g;
  g.n_rows = g.n_cols = static_cast<index_t>(vertices.size());
  g.row_ptr.assign(1, 0);
  for (const index_t v : vertices) {
    for (const index_t u : s.row(v)) {
      if (number[at(u)] >= 0) g.col_idx.push_back(number[at(u)]);
    }
    g.row_ptr.push_back(static_cast<offset_t>(g.col_idx.size()));
  }
  return g;
}

// found: an order whose first `count` vertices are the first group.
ordering dissect_first(const pattern_view& s, const ordering& found, std::size_t count,
                       const order_settings& settings) {
  std::vector<index_t> vertices(found.order.begin(),
                                found.order.begin() + static_cast<offset_t>(count));
  std::ranges::sort(vertices);
  std::vector<index_t> weights;
  for (const index_t v : vertices) {
    if (!settings.weights.empty()) weights.push_back(settings.weights[at(v)]);
  }
  dissection d =
      nested_dissection(graph_of_some(s, vertices),
                        {.seed = settings.seed < 0 ? 0 : static_cast<std::uint64_t>(settings.seed),
                         .threads = settings.threads,
                         .tree_levels = settings.tree_levels,
                         .weights = weights,
                         .stop = settings.stop});
  ordering o = found;
  o.method = "cpu_nested_dissection";
  o.note = "cpu_nested_dissection in groups";
  for (std::size_t k = 0; k < count; ++k) o.order[k] = vertices[at(d.order[k])];
  o.separators = std::move(d.tree);
  if (count == o.order.size()) return o;
  const auto root = static_cast<index_t>(o.separators.parent.size());
  std::ranges::replace(o.separators.parent, -1, root);
  o.separators.start.push_back(s.n_rows);
  o.separators.parent.push_back(-1);
  return o;
}

}  // namespace

ordering order_in_groups(const pattern_view& a, std::span<const index_t> group,
                         const order_settings& settings) {
  pattern sum;
  const pattern_view s = graph_of(a, settings.threads, sum);
  ordering found{
      .order = minimum_degree(
          {.begin = s.row_ptr, .adj = s.col_idx, .weight = settings.weights, .group = group},
          {.stop = settings.stop}),
      .method = "amf",
      .library = {},
      .note = "amf in groups"};
  if (found.order.empty()) return found;
  const index_t first = group[at(found.order[0])];
  const auto count = static_cast<std::size_t>(std::ranges::count(group, first));
  if (settings.tree_levels > 0) return dissect_first(s, found, count, settings);
  const auto cost = [&](const std::vector<index_t>& order) {
    const ordered_tree t = tree_of_order(s, order, settings.weights);
    return order_cost{.operations = t.operations, .entries = 2 * t.entries};
  };
  const order_cost least = cost(found.order);
  const contender& quick = *std::ranges::find(contenders(), contender::on_host, &contender::where);
  const purpose once;
  if (expected_gain(quick, {.cost = least}, once) <=
      seconds_of_order(quick, s.n_rows, least.entries, once)) {
    return found;
  }
  ordering dissected = dissect_first(s, found, count, settings);
  return seconds_of_use(cost(dissected.order), once) < seconds_of_use(least, once) ? dissected
                                                                                   : found;
}

}  // namespace gsofa::orders
