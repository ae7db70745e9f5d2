// Trees and counts of orders against the functions that they combine.

#include "common/ordered_tree.hpp"

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
  CHECK(t.counts == cholesky_column_counts(p, p, parent));
  CHECK(t.row_counts == rows_by_climbing(p, parent));
  CHECK(postorder(parent) == identity_order(p.n_rows));
  const pattern given = permute(s, order, order);
  double operations = 0;
  for (const double c : cholesky_column_counts(given, given, elimination_tree(given))) {
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

TEST_CASE("several threads find the same tree, whatever ranges they take") {
  random_source random(12);
  for (const std::string spec : {"grid5:nx=60,ny=70", "grid7:nx=15", "circuit:n=6000"}) {
    CAPTURE(spec);
    const pattern s = symmetrized(generate(spec), diagonal::keep);
    // Dissected by a postorder of the tree of a minimum degree order, and a random order.
    for (const std::string method : {"amf", "cpu_nested_dissection", "random"}) {
      CAPTURE(method);
      const std::vector<index_t> order = method == "random" ? vertices_at_random(random, s.n_rows)
                                                            : compute_order(s, method, -1).order;
      const ordered_tree one = tree_of_order(s, order);
      check_ordered_tree(s, order, one);
      std::vector<index_range> apart;  // the subtrees of one.order
      for (index_t j = s.n_rows - 1; j >= 0; --j) {
        index_t begin = j;
        while (begin > 0 && one.parent[at(begin) - 1] != -1 && one.parent[at(begin) - 1] <= j)
          --begin;
        if (j - begin > 700) continue;
        apart.insert(apart.begin(), {begin, j + 1});
        j = begin;
      }
      for (const int threads : {2, 3, 8}) {
        for (const bool are_apart : {true, false}) {
          const std::vector<index_range> halves{{0, s.n_rows / 2}, {s.n_rows / 2, s.n_rows}};
          const ordered_tree t =
              tree_of_order(s, one.order, {.apart = are_apart ? apart : halves}, threads);
          CHECK(t.order == one.order);
          CHECK(t.parent == one.parent);
          CHECK(t.counts == one.counts);
          CHECK(t.row_counts == one.row_counts);
          CHECK(t.operations == one.operations);
        }
      }
    }
  }
}
