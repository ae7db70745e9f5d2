#include "variants/orderings/direction.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>

#include "common/generators.hpp"
#include "common/order_quality.hpp"
#include "common/preprocess.hpp"
#include "reference/gaussian_elimination.hpp"
#include "reference/order_check.hpp"
#include "variants/orderings/direction_front.hpp"
#include "variants/orderings/direction_nodes.hpp"

using namespace gsofa;
using namespace gsofa::orders;

namespace {

const char* const unsymmetric[] = {
    "random:n=300,degree=3", "random:n=90,degree=9",   "random:n=2000,degree=2",
    "circuit:n=900,hubs=3",  "convection:nx=24,ny=24", "diagonal:n=70",
};

}  // namespace

TEST_CASE("a front is eliminated as the reference does, the boundary never as a pivot") {
  std::mt19937 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    CAPTURE(trial);
    const auto own = 1 + static_cast<index_t>(random() % 90);
    front f(own, static_cast<index_t>(random() % 90));
    triplets entries{f.size, f.size, {}, {}};
    const auto density = 2 + random() % 40;
    for (index_t i = 0; i < f.size; ++i) {
      for (index_t j = 0; j < f.size; ++j) {
        if (i != j && random() % density != 0) continue;
        f.rows.set(i, j);
        entries.rows.push_back(i);
        entries.cols.push_back(j);
      }
    }
    // Rows and columns of the boundary are ordered after the node: entries of the boundary are
    // those of paths through the node, closed step by step.
    pattern reduced = from_triplets(entries, duplicates::reject);
    bit_rows expected = f.rows;
    for (index_t k = 0; k < f.own; ++k) {
      for (index_t i = k + 1; i < f.size; ++i) {
        for (index_t j = k + 1; j < f.size; ++j) {
          if (expected.test(i, k) && expected.test(k, j)) expected.set(i, j);
        }
      }
    }
    const markowitz_order other =
        markowitz(f).order(std::numeric_limits<double>::infinity(), trial % 2 == 0 ? 1 : 4);
    std::vector<index_t> order = other.order;
    const double found = f.eliminate();
    CHECK(f.rows.bits == expected.bits);
    double flops = 0;
    for (index_t k = 0; k < f.own; ++k) {
      index_t below = 0;
      index_t right = 0;
      for (index_t i = k + 1; i < f.size; ++i) {
        below += expected.test(i, k) ? 1 : 0;
        right += expected.test(k, i) ? 1 : 0;
      }
      flops += pivot_flops(below, right);
    }
    CHECK(found == flops);
    const bit_rows left = f.boundary_rows();
    for (index_t i = 0; i < f.size - f.own; ++i) {
      for (index_t j = 0; j < f.size - f.own; ++j) {
        CHECK(left.test(i, j) == expected.test(f.own + i, f.own + j));
      }
    }
    if (order.empty()) continue;  // as it is
    // The operations of the other order are those of the permuted pattern.
    for (index_t i = f.own; i < f.size; ++i) order.push_back(i);
    const pattern filled = reference::eliminate_boolean(permute(reduced, order, order));
    const pattern transposed = transpose(filled);
    double expected_flops = 0;
    for (index_t k = 0; k < f.own; ++k) {
      const auto above = [k](std::span<const index_t> row) {
        return static_cast<index_t>(std::ranges::count_if(row, [k](index_t j) { return j > k; }));
      };
      expected_flops += pivot_flops(above(transposed.row(k)), above(filled.row(k)));
    }
    CHECK(other.flops == expected_flops);
  }
}

TEST_CASE("a directed order: operations exact and never more, separators stay valid") {
  double before = 0;
  double after = 0;
  for (const char* spec : unsymmetric) {
    const pattern a = generate(spec);
    for (const char* method : {"natural", "amd", "cpu_nested_dissection:leaf_order=20"}) {
      CAPTURE(spec);
      CAPTURE(method);
      const ordering o = compute_order(a, method, -1);
      const auto d = direct(a, o, 1);
      REQUIRE(d);
      CHECK(reference::fault_of_order(a, d->order) == "");
      CHECK_FALSE(d->order.separators.empty());
      CHECK(d->flops_before == quality_of(a, o.order, 1).flops);
      CHECK(d->flops_after == quality_of(a, d->order.order, 1).flops);
      CHECK(d->flops_after <= d->flops_before);
      const auto parallel = direct(a, o, 3);
      REQUIRE(parallel);
      CHECK(parallel->order.order == d->order.order);
      CHECK(parallel->order.separators.start == d->order.separators.start);
      const auto least_fill = direct(a, o, 1, 4);
      REQUIRE(least_fill);
      CHECK(least_fill->flops_before == d->flops_before);
      CHECK(least_fill->flops_after == quality_of(a, least_fill->order.order, 1).flops);
      before += d->flops_before;
      after += d->flops_after;
    }
  }
  CHECK(after < 0.9 * before);
}

TEST_CASE("trees of chains, merged and split, are separator trees of an equivalent order") {
  std::size_t nodes = 0;
  std::size_t left = 0;
  for (const char* spec : unsymmetric) {
    const pattern a = generate(spec);
    for (const char* method : {"natural", "amd"}) {
      CAPTURE(spec);
      CAPTURE(method);
      const std::vector<index_t> order = compute_order(a, method, -1).order;
      const tree_order chains = tree_of_chains(a, order, 20);
      const auto fault = [&](const separator_tree& tree) {
        ordering o;
        o.order = chains.order;
        o.separators = tree;
        return reference::fault_of_order(a, o);
      };
      CHECK(fault(chains.tree) == "");
      CHECK(quality_of(a, chains.order, 1).flops == quality_of(a, order, 1).flops);
      const separator_tree merged = merge_nodes(chains.tree, heads_of_subtrees(chains.tree, 100));
      CHECK(fault(merged) == "");
      nodes += chains.tree.parent.size();
      left += merged.parent.size();
      const separator_tree split = split_nodes(merged, 16);
      CHECK(fault(split) == "");
      for (std::size_t k = 0; k < split.parent.size(); ++k) {
        CHECK(split.start[k + 1] - split.start[k] <= 16);
      }
    }
  }
  CHECK(2 * left < nodes);
}

TEST_CASE("an order of a symmetric pattern is left as it is") {
  const pattern a = generate("grid5:nx=20,ny=20");
  const ordering o = compute_order(a, "cpu_nested_dissection", -1);
  CHECK(best_direction(a, o, 1).order == o.order);
}

TEST_CASE("strong components are the classes of vertices that reach each other") {
  for (int trial = 0; trial < 60; ++trial) {
    CAPTURE(trial);
    const pattern a = generate("random:n=40,degree=1,seed=" + std::to_string(trial));
    bit_rows reach;
    reach.assign(a.n_rows, a.n_rows);
    for (index_t i = 0; i < a.n_rows; ++i) {
      reach.set(i, i);
      for (const index_t j : a.row(i)) reach.set(i, j);
    }
    for (index_t k = 0; k < a.n_rows; ++k) {
      for (index_t i = 0; i < a.n_rows; ++i) {
        for (index_t j = 0; j < a.n_rows; ++j) {
          if (reach.test(i, k) && reach.test(k, j)) reach.set(i, j);
        }
      }
    }
    const strong_components c = strong_components_of(a);
    index_t members = 0;
    for (index_t k = 0; k < c.count(); ++k) members += c.size(k);
    CHECK(members == a.n_rows);
    for (index_t i = 0; i < a.n_rows; ++i) {
      for (index_t j = 0; j < a.n_rows; ++j) {
        const bool both = reach.test(i, j) && reach.test(j, i);
        CHECK((c.of[at(i)] == c.of[at(j)]) == both);
        if (reach.test(i, j)) CHECK(c.of[at(i)] >= c.of[at(j)]);
      }
    }
  }
}

TEST_CASE("an order by components has no fill outside the rows or columns of a component") {
  const auto natural = [](const pattern_view& part) {
    ordering o;
    o.order = identity_order(part.n_rows);
    return o;
  };
  // Without cycles the block triangular form has no fill at all.
  const pattern acyclic = generate("random:n=200,degree=3,seed=5");
  triplets upper{acyclic.n_rows, acyclic.n_cols, {}, {}};
  for (index_t i = 0; i < acyclic.n_rows; ++i) {
    upper.rows.push_back(i), upper.cols.push_back(i);
    for (const index_t j : acyclic.row(i)) {
      if (i * 77 % 200 < j * 77 % 200) upper.rows.push_back(i), upper.cols.push_back(j);
    }
  }
  const pattern a = from_triplets(upper, duplicates::merge);
  const order_quality q = quality_of(a, order_by_components(a, a.n_rows, natural).order, 1);
  CHECK(q.nnz_l + q.nnz_u == a.nnz());
  // What is left is ordered as one pattern, after all that is eliminated first.
  for (const char* spec : unsymmetric) {
    CAPTURE(spec);
    const pattern p = generate(spec);
    for (const index_t most : {1, 16, p.n_rows}) {
      const ordering o = order_by_components(p, most, natural);
      CHECK(reference::fault_of_order(p, o) == "");
      const strong_components c = strong_components_of(p);
      const auto is_large = [&](index_t v) { return c.size(c.of[at(v)]) > most; };
      const auto first = std::ranges::find_if(o.order, is_large);
      CHECK(std::ranges::is_sorted(first, o.order.end()));
    }
  }
}

TEST_CASE("the option direction: never more operations, and best has the fewest") {
  for (const char* spec : unsymmetric) {
    CAPTURE(spec);
    const pattern a = generate(spec);
    const auto flops = [&](const std::string& direction) {
      const ordering o = compute_order(a, "cpu_nested_dissection:direction=" + direction, -1);
      CHECK(reference::fault_of_order(a, o) == "");
      CHECK_FALSE(o.separators.empty());
      return quality_of(a, o.order, 1).flops;
    };
    const double nodes = flops("nodes");
    const double best = flops("best");
    CHECK(nodes <= flops("none"));
    CHECK(best <= nodes);
    CHECK(best <= flops("btf"));
  }
}

TEST_CASE("an order whose fronts do not fit in memory is left as it is") {
  const pattern a = generate("arrow:n=40000,tip=first");
  const ordering natural = compute_order(a, "natural", -1);
  CHECK_FALSE(direct(a, natural, 1));
  CHECK(best_direction(a, natural, 1).order == natural.order);
  CHECK(direct(a, compute_order(a, "amd", -1), 1));
}
