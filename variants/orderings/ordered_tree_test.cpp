// Trees and counts of orders against the functions that they combine.

#include "variants/orderings/ordered_tree.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/elimination_forest.hpp"
#include "common/generators.hpp"
#include "common/preprocess.hpp"
#include "common/random.hpp"

using namespace gsofa;

namespace {

std::vector<index_t> vertices_at_random(random_source& random, index_t n) {
  std::vector<index_t> order = identity_order(n);
  for (std::size_t k = order.size(); k > 1; --k) {
    std::swap(order[k - 1], order[at(random.between(0, static_cast<std::int64_t>(k) - 1))]);
  }
  return order;
}

// Entries of each row of the Cholesky factor left of the diagonal: the vertices of its row subtree.
std::vector<index_t> rows_by_climbing(const pattern& p, std::span<const index_t> parent) {
  std::vector<index_t> counts(parent.size(), 0);
  std::vector<index_t> seen(parent.size(), -1);
  for (index_t i = 0; i < p.n_rows; ++i) {
    for (index_t j : p.row(i)) {
      for (; j < i && seen[at(j)] != i; j = parent[at(j)]) {
        seen[at(j)] = i;
        ++counts[at(i)];
      }
    }
  }
  return counts;
}

void check_ordered_tree(const pattern& s, const std::vector<index_t>& order,
                        const ordered_tree& t) {
  const pattern p = permute(s, t.order, t.order);
  const std::vector<index_t> parent = elimination_tree(p);
  CHECK(t.parent == parent);
  CHECK(t.counts == counts_of_cholesky(p, p, parent).columns);
  CHECK(t.row_counts == rows_by_climbing(p, parent));
  CHECK(postorder(parent) == identity_order(p.n_rows));
  const pattern given = permute(s, order, order);
  double operations = 0;
  for (const double c : counts_of_cholesky(given, given, elimination_tree(given)).columns) {
    operations += c + 2 * c * c;
  }
  CHECK(t.operations == operations);
}

}  // namespace

TEST_CASE("the tree of an order is postordered and has the counts of that order") {
  random_source random(11);
  for (int trial = 0; trial < 300; ++trial) {
    const auto n = static_cast<index_t>(random.between(0, 30));
    triplets t{n, n, {}, {}};
    for (index_t i = 0; i < n; ++i) {
      for (index_t j = 0; j <= i; ++j) {
        if (!random.chance(probability(0.1))) continue;
        t.rows.insert(t.rows.end(), {i, j});
        t.cols.insert(t.cols.end(), {j, i});
      }
    }
    const pattern s = from_triplets(t, duplicates::merge);
    const std::vector<index_t> order = vertices_at_random(random, n);
    check_ordered_tree(s, order, tree_of_order(s, order));
  }
}

TEST_CASE("the trees of meshes and circuits in other orders than the natural one") {
  random_source random(12);
  for (const std::string spec : {"grid5:nx=60,ny=70", "grid7:nx=15", "circuit:n=6000"}) {
    CAPTURE(spec);
    const pattern s = symmetrized(generate(spec), diagonal::keep);
    for (const std::string method : {"amf", "cpu_nested_dissection", "random"}) {
      CAPTURE(method);
      const std::vector<index_t> order = method == "random" ? vertices_at_random(random, s.n_rows)
                                                            : compute_order(s, method, -1).order;
      check_ordered_tree(s, order, tree_of_order(s, order));
    }
  }
}
