// labels: oracle
// program: emulated device
// Nested dissection on the emulated device finds the order that the host finds.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/generators.hpp"
#include "common/ordering.hpp"
#include "common/random.hpp"
#include "variants/orderings/dissection/test_subjects.hpp"

using namespace gsofa;

namespace {

// Undirected edges as a pattern.
pattern graph_of(index_t n, const std::vector<std::pair<index_t, index_t>>& edges) {
  std::vector<std::pair<index_t, index_t>> both;
  for (const auto& [u, v] : edges) {
    both.emplace_back(u, v);
    both.emplace_back(v, u);
  }
  std::ranges::sort(both);
  pattern a;
  a.n_rows = a.n_cols = n;
  a.row_ptr.assign(at(n) + 1, 0);
  for (const auto& [u, v] : both) {
    ++a.row_ptr[at(u) + 1];
    a.col_idx.push_back(v);
  }
  for (index_t v = 0; v < n; ++v) a.row_ptr[at(v) + 1] += a.row_ptr[at(v)];
  return a;
}

pattern star(index_t n) {
  std::vector<std::pair<index_t, index_t>> edges;
  for (index_t v = 1; v < n; ++v) edges.emplace_back(0, v);
  return graph_of(n, edges);
}
pattern path(index_t n) {
  std::vector<std::pair<index_t, index_t>> edges;
  for (index_t v = 1; v < n; ++v) edges.emplace_back(v - 1, v);
  return graph_of(n, edges);
}
pattern clique(index_t n) {
  std::vector<std::pair<index_t, index_t>> edges;
  for (index_t v = 0; v < n; ++v) {
    for (index_t u = 0; u < v; ++u) edges.emplace_back(u, v);
  }
  return graph_of(n, edges);
}
// Cliques of three that hang on a path: twins, and many vertices of one meeting place.
pattern comb(index_t n) {
  std::vector<std::pair<index_t, index_t>> edges;
  for (index_t v = 1; v < n / 4; ++v) edges.emplace_back(v - 1, v);
  for (index_t v = n / 4; v + 2 < n; v += 3) {
    const index_t root = (v - n / 4) / 9 % (n / 4);
    edges.insert(edges.end(), {{root, v}, {v, v + 1}, {v + 1, v + 2}, {v, v + 2}});
  }
  return graph_of(n, edges);
}

void check_equal(const pattern& a, const std::string& options, std::int64_t seed,
                 int tree_levels = 0) {
  const bool strides = options.find("stride=") != options.npos;
  const std::string all = strides ? options : options + ",stride=1";
  const ordering host =
      compute_order(a, "cpu_nested_dissection" + all, seed, 1, nullptr, false, {}, tree_levels);
  const ordering device =
      compute_order(a, "gpu_nested_dissection" + all, seed, 1, nullptr, false, {}, tree_levels);
  CHECK(device.order == host.order);
  CHECK(device.separators.start == host.separators.start);
  CHECK(device.separators.parent == host.separators.parent);
}

}  // namespace

TEST_CASE("the device's nested dissection finds the host's order") {
  const char* specs[] = {"diagonal:n=1",         "diagonal:n=300",
                         "grid5:nx=20",          "grid7:nx=8",
                         "grid27:nx=7",          "grid27:nx=8,drop=0.3",
                         "circuit:n=800,hubs=3", "random:n=400,degree=3,seed=5",
                         "elasticity3d:nx=5"};
  for (const char* spec : specs) {
    CAPTURE(spec);
    check_equal(generate(spec), ":room=1", -1);
    check_equal(generate(spec), ":leaf_order=20,tries=3,room=3,idle_moves=20,stride=2,flows=2", 7);
  }
}

TEST_CASE(
    "the device has the host's order of graphs of every kind, with small parts and large leaves") {
  for (const pattern& a : orders::test::subjects()) {
    CAPTURE(a.n_rows);
    CAPTURE(a.nnz());
    check_equal(a, ":leaf_order=1,room=1,reduce=0", 1);
    check_equal(a, ":leaf_order=5,tries=2,replicas=3,room=2", 2);
    check_equal(a, ":leaf_order=40,room=1,reduce=0", 3, 3);
  }
}

TEST_CASE("the device divides a graph for a tree as the host does") {
  for (const char* spec : {"grid5:nx=20", "grid5:nx=9", "tridiagonal:n=300", "diagonal:n=300",
                           "circuit:n=800,hubs=3", "elasticity3d:nx=4"}) {
    CAPTURE(spec);
    check_equal(generate(spec), ":room=1", -1, 4);
  }
}

TEST_CASE("separators of large graphs move on the device as on the host") {
  // The graphs do not fit shared memory; steps move two and four vertices, rounds more.
  for (const char* spec : {"grid5:nx=40", "grid7:nx=11", "random:n=1300,degree=6,seed=3"}) {
    CAPTURE(spec);
    check_equal(generate(spec), ":leaf_order=300,tries=1,replicas=1,room=1", -1);
  }
}

TEST_CASE("the device's nested dissection of graphs of extreme shapes is the host's") {
  const std::pair<const char*, pattern> graphs[] = {
      {"empty", graph_of(0, {})}, {"pair", graph_of(2, {{0, 1}})}, {"star", star(500)},
      {"path", path(400)},        {"clique", clique(130)},         {"comb", comb(900)}};
  for (const auto& [name, a] : graphs) {
    CAPTURE(name);
    check_equal(a, ":room=2", -1);
    check_equal(a, ":leaf_order=1,replicas=2,room=1", 3);
  }
}

TEST_CASE("a graph that hardly coarsens is not split, on the device neither") {
  // Leaves of few hubs at random: no pairs to match, and no small separator.
  std::vector<std::pair<index_t, index_t>> edges;
  for (index_t v = 100; v < 2500; ++v) {
    for (std::uint64_t k = 0; k < 4; ++k) {
      edges.emplace_back(v, static_cast<index_t>(keyed_random(k, at(v), 0) % 100));
    }
  }
  std::ranges::sort(edges);
  edges.erase(std::ranges::unique(edges).begin(), edges.end());
  const pattern a = graph_of(2500, edges);
  check_equal(a, ":reduce=0", -1);
  const ordering order = compute_order(a, "cpu_nested_dissection:reduce=0", -1);
  CHECK(order.separators.parent == std::vector<index_t>{-1});
  // Leaves go first.
  CHECK(std::all_of(order.order.end() - 90, order.order.end(), [](index_t v) { return v < 100; }));
}

TEST_CASE("where the arrays of the reduction do not fit, the host reduces") {
  const pattern a = generate("tridiagonal:n=16000");
  // The neighbours of vertices of small degree take 32 bytes a vertex, their states and lists 25.
  REQUIRE(57 * a.n_rows < (1 << 20));
  REQUIRE(57 * a.n_rows + 8 * a.n_rows + 4 * a.nnz() > (1 << 20));
  const ordering little = compute_order(a, "gpu_nested_dissection:memory_budget_mb=1", -1);
  CHECK(little.order == compute_order(a, "cpu_nested_dissection", -1).order);
}

TEST_CASE("where the sort of A + A^T does not fit, the order is the same") {
  const pattern a = clique(270);
  const ordering whole = compute_order(a, "gpu_nested_dissection", -1);
  // Two words of 8 bytes an entry are more than this.
  REQUIRE(16 * a.nnz() > (1 << 20));
  const ordering little = compute_order(a, "gpu_nested_dissection:memory_budget_mb=1", -1);
  CHECK(little.order == whole.order);
  CHECK(little.separators.start == whole.separators.start);
}
