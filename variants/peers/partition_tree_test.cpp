#include "common/partition_tree.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "common/generators.hpp"
#include "common/order_quality.hpp"
#include "harness/check/test_patterns.hpp"

using namespace gsofa;
using namespace gsofa::partition;

namespace {

constexpr tree_layout layouts[] = {tree_layout::nested, tree_layout::by_level};

// `edges` join vertices i, j of n, with the diagonal.
pattern graph(index_t n, const std::vector<std::pair<index_t, index_t>>& edges) {
  triplets t{.n_rows = n, .n_cols = n, .rows = {}, .cols = {}};
  for (index_t i = 0; i < n; ++i) {
    t.rows.push_back(i);
    t.cols.push_back(i);
  }
  for (const auto& [i, j] : edges) {
    t.rows.insert(t.rows.end(), {i, j});
    t.cols.insert(t.cols.end(), {j, i});
  }
  return from_triplets(t, duplicates::merge);
}

pattern star(index_t leaves) {
  std::vector<std::pair<index_t, index_t>> edges;
  for (index_t i = 1; i <= leaves; ++i) edges.emplace_back(0, i);
  return graph(leaves + 1, edges);
}

pattern path(index_t n) {
  std::vector<std::pair<index_t, index_t>> edges;
  for (index_t i = 1; i < n; ++i) edges.emplace_back(i - 1, i);
  return graph(n, edges);
}

pattern clique(index_t n) {
  std::vector<std::pair<index_t, index_t>> edges;
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = 0; j < i; ++j) edges.emplace_back(i, j);
  }
  return graph(n, edges);
}

// Copies of a, with nothing between them.
pattern copies(const pattern& a, index_t times) {
  triplets t{.n_rows = a.n_rows * times, .n_cols = a.n_rows * times, .rows = {}, .cols = {}};
  for (index_t c = 0; c < times; ++c) {
    for (index_t i = 0; i < a.n_rows; ++i) {
      for (const index_t j : a.row(i)) {
        t.rows.push_back(c * a.n_rows + i);
        t.cols.push_back(c * a.n_rows + j);
      }
    }
  }
  return from_triplets(t, duplicates::reject);
}

// Paths side by side, and vertices that are adjacent to all others.
pattern paths_under_hubs(index_t paths, index_t length, index_t hubs) {
  std::vector<std::pair<index_t, index_t>> edges;
  const index_t n = paths * length + hubs;
  for (index_t p = 0; p < paths; ++p) {
    for (index_t i = 1; i < length; ++i) edges.emplace_back(p * length + i - 1, p * length + i);
  }
  for (index_t h = n - hubs; h < n; ++h) {
    for (index_t v = 0; v < h; ++v) edges.emplace_back(h, v);
  }
  return graph(n, edges);
}

std::vector<named_pattern> shapes() {
  std::vector<named_pattern> all = special_patterns();
  all.push_back({"empty", pattern{.row_ptr = {0}, .col_idx = {}}});
  all.push_back({"star", star(700)});
  all.push_back({"path", path(900)});
  all.push_back({"clique", clique(150)});
  all.push_back({"five grids", copies(generate("grid5:nx=17,ny=13"), 5)});
  all.push_back({"many paths", copies(path(9), 60)});
  all.push_back({"paths under hubs", paths_under_hubs(20, 30, 4)});
  all.push_back({"thinned grid", generate("grid27:nx=11,drop=0.3")});
  all.push_back({"circuit", generate("circuit:n=1500")});
  for (std::uint64_t k = 0; k < 300; ++k) all.push_back(random_pattern(7, k));
  return all;
}

void check_tree(const pattern_view& a, const partition_tree& t, int levels) {
  CHECK(t.size.size() == (std::size_t{1} << levels) - 1);
  CHECK(crossing_entries(a, t) == 0);
}

ordering dissected(const pattern_view& a, const std::string& options = "leaf_order=7") {
  return compute_order(a, "cpu_nested_dissection:" + options, -1);
}

}  // namespace

TEST_CASE("the binary tree of a dissection separates, in either layout, at any depth") {
  for (const auto& p : shapes()) {
    CAPTURE(p.name);
    const ordering o = dissected(p.a);
    for (const int levels : {1, 2, 3, 6, 10}) {
      CAPTURE(levels);
      for (const tree_layout layout : layouts)
        check_tree(p.a, binary_tree(o, levels, layout), levels);
    }
  }
}

TEST_CASE("a tree of three levels leaves a path few vertices") {
  for (const char* spec :
       {"tridiagonal:n=1000", "tridiagonal:n=9", "diagonal:n=500", "arrow:n=2000", "grid5:nx=30",
        "circuit:n=3000,hubs=4", "kkt:buses=60", "circuit:n=2000,degree=2"}) {
    CAPTURE(spec);
    const pattern a = generate(spec);
    const ordering o =
        compute_order(a, "cpu_nested_dissection", -1, 2, nullptr, /*host_only=*/true, {}, 3);
    const partition_tree t = binary_tree(o, 3, tree_layout::nested);
    check_tree(a, t, 3);
    const index_t path = t.size[6] + std::max(t.size[4] + std::max(t.size[0], t.size[1]),
                                              t.size[5] + std::max(t.size[2], t.size[3]));
    CHECK(20 * path <= 7 * a.n_rows + 20);
  }
}

TEST_CASE("the renumbered order has the fill of the one given") {
  for (const auto& p : shapes()) {
    if (p.a.n_rows == 0) continue;
    CAPTURE(p.name);
    const ordering o = dissected(p.a);
    const order_quality given = quality_of(p.a, o.order, 1);
    for (const tree_layout layout : layouts) {
      const order_quality now = quality_of(p.a, binary_tree(o, 5, layout).order, 1);
      CHECK(now.nnz_l == given.nnz_l);
      CHECK(now.nnz_u == given.nnz_u);
      CHECK(now.flops == given.flops);
      CHECK(now.height == given.height);
    }
  }
}

TEST_CASE("a tree is cut from the etree of any order") {
  for (const auto& p : shapes()) {
    if (p.a.n_rows == 0) continue;
    CAPTURE(p.name);
    const ordering o = compute_order(p.a, "amd", -1);
    for (const int levels : {1, 2, 7}) {
      for (const tree_layout layout : layouts) {
        check_tree(p.a, tree_of_etree(p.a, o.order, levels, layout), levels);
      }
    }
  }
}

// Vertices on the heaviest path from a leaf to the root.
index_t heaviest_path(const partition_tree& t, int depth = 0, std::size_t k = 0) {
  const index_t own = t.size[node_place(t.levels, depth, k)];
  if (depth + 1 == t.levels) return own;
  return own + std::max(heaviest_path(t, depth + 1, 2 * k), heaviest_path(t, depth + 1, 2 * k + 1));
}

TEST_CASE("a path of the tree of an order is hardly heavier than the etree is high") {
  for (const char* spec : {"kkt:buses=300", "circuit:n=3000", "circuit:n=9000,hubs=6,supply=0.15",
                           "bipartite_kkt:rows=2000,columns=800", "grid5:nx=50",
                           "space_time_kkt:states=4,controls=1,elements=500,points=1"}) {
    const pattern a = generate(spec);
    for (const char* order : {"amd", "amf", "amf:score=degree"}) {
      CAPTURE(spec);
      CAPTURE(order);
      const ordering o = compute_order(a, order, -1);
      const index_t height = quality_of(a, o.order, 1).height;
      const partition_tree t = tree_of_etree(a, o.order, 9, tree_layout::by_level);
      check_tree(a, t, 9);
      CHECK(heaviest_path(t) <= height + a.n_rows / 32);
    }
  }
}

TEST_CASE("separators that shorten the longest path come to the root, parts are even") {
  // Node 6 over nodes 0 to 4; node 7, the root, has node 6 alone below it; node 5 is a second root.
  ordering o{.order = std::vector<index_t>(14), .method = {}, .library = {}};
  std::iota(o.order.begin(), o.order.end(), 0);
  o.separators.start = {0, 4, 6, 7, 8, 9, 11, 12, 14};
  o.separators.parent = {6, 6, 6, 6, 6, -1, 7, -1};
  const partition_tree t = binary_tree(o, 4, tree_layout::by_level);
  // Nodes 7 and 6 are the root: 3 vertices. Below it {0, 2, 4} and {5, 3, 1} part without a
  // separator.
  CHECK(t.size == std::vector<index_t>{4, 0, 1, 1, 2, 1, 2, 0, /**/ 0, 0, 0, 0, /**/ 0, 0, /**/ 3});
  CHECK(t.order == std::vector<index_t>{0, 1, 2, 3, 6, 8, 9, 10, 7, 4, 5, 11, 12, 13});
  const partition_tree nested = binary_tree(o, 4, tree_layout::nested);
  CHECK(nested.size == t.size);
  CHECK(nested.order == t.order);
  CHECK(binary_tree(o, 1, tree_layout::nested).size == std::vector<index_t>{14});
}

TEST_CASE("an order without a tree is one domain") {
  const pattern a = path(10);
  const ordering o = compute_order(a, "amd", -1);
  const partition_tree t = binary_tree(o, 3, tree_layout::nested);
  CHECK(t.size == std::vector<index_t>{10, 0, 0, 0, 0, 0, 0});
  CHECK(t.order == o.order);
}

TEST_CASE("crossing entries are counted, and trees of another matrix refused") {
  const pattern a = path(5);
  partition_tree t{.levels = 2, .layout = tree_layout::nested, .size = {2, 2, 1}, .order = {}};
  t.order = {0, 1, 3, 4, 2};
  CHECK(crossing_entries(a, t) == 0);
  t.order = {0, 1, 2, 3, 4};
  CHECK(crossing_entries(a, t) == 2);
  t.order = {0, 0, 2, 3, 4};
  CHECK_THROWS_AS(crossing_entries(a, t), input_error);
  t.order = {0, 1, 2, 3, 4};
  t.size = {2, 2, 2};
  CHECK_THROWS_AS(crossing_entries(a, t), input_error);
  t.size = {6, -2, 1};
  CHECK_THROWS_AS(crossing_entries(a, t), input_error);
  CHECK_THROWS_AS(binary_tree({}, 0, tree_layout::nested), input_error);
  CHECK_THROWS_AS(binary_tree({}, 25, tree_layout::nested), input_error);
}
