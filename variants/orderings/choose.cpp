// The constants of the choice, and the shape of a graph.

#include "variants/orderings/choose.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "variants/orderings/dissection/host/reduce.hpp"

namespace gsofa::orders {

namespace {

// Seconds of one core of an AMD EPYC (experiments/regret). They decide only which orders are
// computed, and which of two counted orders is better.

// In order of time but for the first, which takes little longer than minimum degree and mostly has
// fewer operations. A dissection with other options has 0.05 to 0.1 fewer operations for twice the
// time; reductions to degree 16 win where a small core is left.
constexpr std::array<contender, 6> table{{
    {"amf", "", 500e-9, 6e-9, 0.05, false},
    {"amf", score_degree, 400e-9, 4e-9, 0.05, false},
    {"cpu_nested_dissection", "replicas=1,tries=2,stride=2", 7e-6, 0, 0.05, true,
     contender::on_host},
    {"cpu_nested_dissection", options_on_device, 7e-6, 0, 0.05, true, contender::on_gpu},
    {"cpu_nested_dissection", "room=8,stride=2", 13e-6, 0, 0.05, true},
    {"cpu_nested_dissection", "room=8,stride=2,reduce=16", 13e-6, 0, 0.05, true,
     contender::anywhere, true},
}};

// What a factorization takes, in seconds: for an operation, an entry of L and U, a level of the
// elimination tree, and a supernode. On k cores the first two take k^power times less.
struct rates {
  double operation, entry, level, supernode;
  double power;
};
constexpr rates rates_of(factorization_kind kind) {
  switch (kind) {
    case factorization_kind::left_looking:
      return {0.08e-9, 31e-9, 0, 0, 0};
    case factorization_kind::supernodal:
      return {0.04e-9, 25e-9, 0, 0, 0.7};
    case factorization_kind::distributed:
      return {0.08e-9, 57e-9, 0, 19e-6, 0.5};
    case factorization_kind::operations:
      return {0.2e-9, 0, 0, 0, 0};
    case factorization_kind::gpu:  // a model alone: takes_minimum_degree() decides
      return {0.5e-12, 0, 4.5e-6, 0, 0};
  }
  return {};
}

// SuperLU_DIST makes a supernode of a subtree with at most this many columns.
constexpr index_t most_columns_of_leaf = 60;

// The operations that a dissection saves after minimum fill, in the mean. They grow with the
// operations of minimum fill for each of its entries of L and U: 3 % up to 70, a third at 400,
// half at 1,000.
double gain_of_dissection(const order_cost& minimum_fill) {
  const double each =
      minimum_fill.operations / std::max(1.0, static_cast<double>(minimum_fill.entries));
  return std::clamp(0.12 * std::log2(each / 60), 0.03, 0.5);
}
// Minimum degree begins if a vertex has at most this many neighbours in the mean.
constexpr offset_t most_neighbours_of_sparse = 8;
// Standard deviation of the operations of dissections with different seeds.
constexpr double spread_of_seeds = 0.025;
// By how many standard deviations the expected minimum of k normal numbers is below that of k - 1,
// for k = 2 to 8.
constexpr std::array<double, 7> gain_of_seed = {0.564, 0.282, 0.183, 0.134, 0.104, 0.085, 0.071};

// A mesh is dissected without a rival; with lower limits minimum fill won on a channel
// (experiments/orderings/LOG.md, "Tournament"), and a long band was taken for a mesh
// (experiments/cliffs/LOG.md).
constexpr double least_left_of_mesh = 0.95;    // share that the reductions leave
constexpr double most_neighbours_in_mesh = 6;  // of a vertex, as multiple of the mean
constexpr double least_width_of_mesh = 128;    // vertices on a level of a search
constexpr double most_squares_of_mesh = 6;     // vertices, as multiple of the squared width

// Minimum degree is faster than a dissection on a device if rows have very different lengths: the
// least longest row, and the least standard deviation of the lengths, as multiples of their mean,
// or the least share of rows with at most three neighbours (36 inputs of
// experiments/regret/unseen.tsv and unseen_2.tsv).
constexpr double irregular_longest = 2;
constexpr double irregular_deviation = 0.38;
constexpr double irregular_short = 0.3;

// The tree of minimum degree is a path if it is this many times as high as a dense matrix with the
// same operations of A + A^T has rows (experiments/regret/LOG.md, "Paths in cuDSS"). Short paths
// cost less than a dissection.
constexpr double least_height_of_path = 6;
constexpr index_t least_vertices_of_path = 1000;

// Visits vertices level by level, from `first` on, until a level ends with enough of them.
struct search_result {
  index_t last = 0;    // vertex
  index_t levels = 0;  // complete
  offset_t vertices = 0;
};
search_result search(const pattern_view& g, index_t first, std::vector<std::uint8_t>& seen,
                     std::vector<index_t>& queue) {
  constexpr std::size_t enough = 200000;
  queue.assign(1, first);
  seen[at(first)] = 1;
  search_result r;
  for (std::size_t k = 0, end = 1; k < end; end = queue.size(), ++r.levels) {
    if (end > enough) break;
    for (; k < end; ++k) {
      for (const index_t u : g.row(queue[k])) {
        if (seen[at(u)] != 0) continue;
        seen[at(u)] = 1;
        queue.push_back(u);
      }
    }
  }
  r.last = queue.back();
  r.vertices = static_cast<offset_t>(queue.size());
  return r;
}

// Vertices by level of breadth-first searches, enough of them: of two searches in a component, the
// second from the end of the first, the one with more levels counts. If both end early, the second
// begins inside the component, where its levels grow in all directions.
struct extent {
  double width = 0;
  double vertices = 0;  ///< visited
};
extent extent_of(const pattern_view& g) {
  constexpr offset_t enough = 50000;
  std::vector<std::uint8_t> seen(at(g.n_rows), 0);
  std::vector<index_t> queue;
  offset_t levels = 0;
  offset_t vertices = 0;
  for (index_t v = 0; v < g.n_rows && vertices < enough; ++v) {
    if (seen[at(v)] != 0 || g.row(v).empty()) continue;
    const search_result first = search(g, v, seen, queue);
    for (const index_t u : queue) seen[at(u)] = 0;
    const search_result second = search(g, first.last, seen, queue);
    const search_result& longer = first.levels > second.levels ? first : second;
    levels += longer.levels;
    vertices += longer.vertices;
  }
  const auto visited = static_cast<double>(vertices);
  return {levels == 0 ? 0 : visited / static_cast<double>(levels), visited};
}

}  // namespace

std::span<const contender> contenders() { return table; }

std::vector<option_spec> purpose_options() {
  const purpose defaults;
  return {{.name = "factorizations",
           .default_value = defaults.factorizations,
           .help = "numeric factorizations that will use the order, each with one solve",
           .minimum = 1,
           .maximum = 1'000'000'000},
          {.name = "kind",
           .default_value = std::string("left_looking"),
           .help = "how the program factorizes",
           .choices = {"left_looking", "supernodal", "distributed", "gpu"},
           .tested = {"supernodal", "distributed", "gpu"}},
          {.name = "cores",
           .default_value = std::int64_t{defaults.cores},
           .help = "cores that order and factorize",
           .minimum = 1,
           .maximum = 100'000}};
}

purpose purpose_of(const option_set& options) {
  const std::string& kind = options.choice("kind");
  return {.factorizations = options.integer("factorizations"),
          .kind = kind == "gpu"           ? factorization_kind::gpu
                  : kind == "distributed" ? factorization_kind::distributed
                  : kind == "supernodal"  ? factorization_kind::supernodal
                                          : factorization_kind::left_looking,
          .cores = static_cast<int>(options.integer("cores"))};
}

double seconds_of_order(const contender& c, double rows, offset_t entries, const purpose& use) {
  const double speed = c.dissects ? std::pow(use.cores, power_of_dissection) : 1;
  return (c.row * rows + c.entry * static_cast<double>(entries)) / speed;
}

bool takes_minimum_degree(const pattern_view& a, std::int64_t factorizations) {
  if (factorizations >= many_factorizations) return false;
  if (a.n_rows < least_rows_to_dissect / (factorizations < several_factorizations ? 1 : 3)) {
    return true;
  }
  double longest = 0, squares = 0, short_rows = 0;
  for (index_t i = 0; i < a.n_rows; ++i) {
    const auto neighbours = static_cast<double>(a.row(i).size()) - 1;
    longest = std::max(longest, neighbours);
    squares += neighbours * neighbours;
    short_rows += neighbours <= 3 ? 1 : 0;
  }
  const double n = a.n_rows;
  const double mean = static_cast<double>(a.nnz()) / n - 1;
  const double deviation = std::sqrt(std::max(0.0, squares / n - mean * mean));
  return longest >= irregular_longest * mean &&
         (deviation >= irregular_deviation * mean || short_rows >= irregular_short * n);
}

bool is_long_path(const order_cost& minimum_degree) {
  const double dense_rows = std::cbrt(1.5 * minimum_degree.operations);  // 2/3 n^3 operations
  return minimum_degree.height >= least_vertices_of_path &&
         minimum_degree.height > least_height_of_path * dense_rows;
}

bool counts_supernodes(const purpose& use) { return rates_of(use.kind).supernode > 0; }

bool begins_with_degree(const pattern_view& graph, const purpose& use) {
  const bool is_seldom = use.factorizations < several_factorizations;
  return (is_seldom || use.kind == factorization_kind::operations) &&
         graph.nnz() <= most_neighbours_of_sparse * graph.n_rows;
}

void count_supernodes(const ordered_tree& t, order_cost& cost) {
  const std::size_t n = t.parent.size();
  std::vector<index_t> size(n, 1), children(n, 0), path(n, 0);
  for (std::size_t v = 0; v < n; ++v) {
    // A supernode of a leaf counts at its last column, another one at its first.
    const index_t up = t.parent[v];
    const bool in_leaf = size[v] <= most_columns_of_leaf;
    const bool continues = v > 0 && size[v - 1] > most_columns_of_leaf &&
                           t.parent[v - 1] == static_cast<index_t>(v) && children[v] == 1 &&
                           t.counts[v] == t.counts[v - 1] - 1;
    // Children come before their parents: size[v] is complete here, size[parent] is not.
    if (!in_leaf && !continues) {
      ++cost.supernodes;
      ++path[v];
    }
    cost.supernodal_height = std::max(cost.supernodal_height, path[v]);
    if (up < 0) {
      cost.supernodes += in_leaf ? 1 : 0;
      continue;
    }
    size[at(up)] += size[v];
    ++children[at(up)];
    path[at(up)] = std::max(path[at(up)], path[v]);
  }
  // The children of the columns above the leaves that are leaves.
  for (std::size_t v = 0; v < n; ++v) {
    const index_t up = t.parent[v];
    if (up >= 0 && size[v] <= most_columns_of_leaf && size[at(up)] > most_columns_of_leaf) {
      ++cost.supernodes;
    }
  }
}

bool uses_direction(const purpose& use) {
  return use.kind == factorization_kind::left_looking || use.kind == factorization_kind::operations;
}

double seconds_of_use(const order_cost& cost, const purpose& use) {
  const rates r = rates_of(use.kind);
  if (cost.supernodal_height > most_supernodal_height) return 1e9;
  const double once =
      (r.operation * cost.operations + r.entry * static_cast<double>(cost.entries)) /
          std::pow(use.cores, r.power) +
      r.level * cost.height + r.supernode * cost.supernodes;
  return once * static_cast<double>(use.factorizations);
}

double expected_gain(const contender& c, const best_so_far& best, const purpose& use) {
  double gain = c.gain;
  // An order with fewer operations has fewer entries.
  order_cost cost = best.cost;
  if (best.orders > 0) {
    gain = spread_of_seeds * gain_of_seed[std::min(at(best.orders), gain_of_seed.size()) - 1];
  } else if (!best.same_method) {
    gain = gain_of_dissection(best.cost);
    cost.supernodal_height = 0;
  }
  cost.operations *= 1 - gain;
  cost.entries = static_cast<offset_t>(std::sqrt(1 - gain) * static_cast<double>(cost.entries));
  return seconds_of_use(best.cost, use) - seconds_of_use(cost, use);
}

double seconds_of_shape(offset_t rows_and_entries) {
  return 60e-9 * static_cast<double>(rows_and_entries);
}

bool may_be_mesh(const pattern_view& s) {
  if (s.n_rows < least_rows_of_mesh) return false;
  index_t kept = 0;
  for (index_t v = 0; v < s.n_rows; ++v) kept += s.row(v).size() > 1 ? 1 : 0;
  return kept > least_left_of_mesh * s.n_rows;
}

graph_shape shape_of(const pattern_view& s, int threads) {
  const reduction r = reduce(s, 8, threads);
  const pattern_view g = r.graph(s);
  graph_shape shape;
  index_t vertices = 0;
  index_t most = 0;
  for (index_t v = 0; v < g.n_rows; ++v) {
    const auto degree = static_cast<index_t>(g.row(v).size());
    vertices += degree > 0 ? 1 : 0;
    most = std::max(most, degree);
  }
  shape.entries = static_cast<offset_t>(g.nnz());
  if (vertices == 0) return shape;
  shape.left = static_cast<double>(vertices) / static_cast<double>(s.n_rows);
  shape.most_neighbours = static_cast<double>(most) * vertices / static_cast<double>(shape.entries);
  const extent e = extent_of(g);
  shape.width = e.width;
  // A square of m x m points has 2 m levels of m / 2 points. Longer graphs may be strips, which
  // minimum degree orders better than dissection.
  const bool is_wide =
      e.width >= least_width_of_mesh && e.vertices <= most_squares_of_mesh * e.width * e.width;
  shape.is_mesh = s.n_rows >= least_rows_of_mesh && shape.left > least_left_of_mesh &&
                  shape.most_neighbours < most_neighbours_in_mesh && is_wide;
  return shape;
}

}  // namespace gsofa::orders
