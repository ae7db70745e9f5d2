// labels: oracle
// program: emulated
// Leaves are ordered as on the host.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "common/generators.hpp"
#include "common/random.hpp"
#include "variants/orderings/dissection/test_graphs.hpp"

using namespace gsofa;
using orders::graph;

namespace {

// Orders leaves of up to `most` vertices in an order that keeps neighbours together or, if mixed,
// does not.
void check_leaves(const pattern& s, index_t most, bool mixed, std::uint64_t seed) {
  gpu::memory_budget budget = orders::test::budget_of_tests();
  orders::device::level l(budget);
  const graph g = orders::test::graph_of(s);
  orders::test::put_graphs(l, {g});
  random_source random(seed);
  std::vector<index_t> order(at(g.n));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t k = order.size(); mixed && k > 1; --k) {
    std::swap(order[k - 1], order[random.below(k)]);
  }
  std::vector<orders::device::leaf> leaves;
  for (index_t first = 0; first < g.n;) {
    const auto size = static_cast<index_t>(random.below(static_cast<std::uint64_t>(most) + 1));
    const index_t last = std::min(g.n, first + size);
    leaves.push_back({first, last});
    first = last + static_cast<index_t>(random.below(3));
  }
  orders::device::growing_array<index_t> d_order(budget, "order");
  orders::test::put(d_order, order);
  orders::device::order_leaves(l, leaves, d_order.data(), budget);
  orders::scratch scratch;
  scratch.local.assign(at(g.n), -1);
  for (const orders::device::leaf& own : leaves) {
    orders::order_leaf(g, std::span(order).subspan(at(own.first), at(own.last - own.first)),
                       scratch);
  }
  CHECK(orders::test::values_of(d_order, g.n) == order);
}

}  // namespace

TEST_CASE("leaves on the device are ordered as on the host") {
  for (const pattern& s : orders::test::subjects()) {
    CAPTURE(s.n_rows);
    CAPTURE(s.nnz());
    check_leaves(s, 40, false, 1);
    check_leaves(s, 70, true, 2);
  }
  // A halo with more vertices than count, and leaves too large for minimum fill.
  const auto dense = symmetrized(generate("random:n=2600,degree=60,seed=1"), diagonal::drop);
  check_leaves(dense, 50, true, 3);
  const auto wide = symmetrized(generate("random:n=5000,degree=4,seed=1"), diagonal::drop);
  check_leaves(wide, 5000, true, 4);
}
