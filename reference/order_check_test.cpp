#include "reference/order_check.hpp"

#include <doctest/doctest.h>

using namespace gsofa;

namespace {

// The path 0 - 1 - 2 - 3 - 4, of which only one direction is stored.
pattern path() { return {5, 5, {0, 1, 2, 3, 4, 4}, {1, 2, 3, 4}}; }

ordering dissected() {
  return {.order = {0, 1, 3, 4, 2},
          .method = {},
          .library = {},
          .separators = {.start = {0, 2, 4, 5}, .parent = {2, 2, -1}}};
}

std::string fault_of(const ordering& o) { return reference::fault_of_order(path(), o); }

}  // namespace

TEST_CASE("a right dissection, and an order without a tree") {
  ordering o = dissected();
  CHECK(fault_of(o).empty());
  o.separators = {};
  CHECK(fault_of(o).empty());
  CHECK(reference::fault_of_order({}, {}).empty());
}

TEST_CASE("an order that is no permutation") {
  ordering o = dissected();
  o.order.pop_back();
  CHECK(fault_of(o) == "the order has 4 of 5 vertices");
  o = dissected();
  o.order[1] = 3;
  CHECK(fault_of(o) == "vertex 3 stands at positions 1 and 2");
  o.order[1] = 5;
  CHECK(fault_of(o) == "position 1 holds 5, no vertex");
  o.order[1] = -1;
  CHECK(fault_of(o) == "position 1 holds -1, no vertex");
}

TEST_CASE("a separator that an edge crosses") {
  ordering o = dissected();
  o.separators.start = {0, 2, 3, 5};  // 4 belongs to the separator, which is allowed
  CHECK(fault_of(o).empty());
  o.separators.start = {0, 1, 4, 5};  // 1 stands with 3 and 4, and is joined with 0
  CHECK(fault_of(o) ==
        "entry (0, 1) crosses a separator: neither of its nodes is an ancestor of the other");
  o = dissected();
  o.separators.parent = {-1, 2, -1};
  CHECK(fault_of(o) ==
        "entry (1, 2) crosses a separator: neither of its nodes is an ancestor of the other");
}

TEST_CASE("a tree that is none") {
  ordering o = dissected();
  o.separators.start.back() = 4;
  CHECK(fault_of(o) == "the nodes of the separator tree do not own each position once");
  o = dissected();
  o.separators.start = {0, 3, 2, 5};
  CHECK(fault_of(o) == "node 1 of the separator tree ends before it begins");
  o = dissected();
  o.separators.parent[2] = 0;
  CHECK(fault_of(o) == "node 2 of the separator tree has node 0 as its parent");
  o.separators.parent[2] = 3;
  CHECK(fault_of(o) == "node 2 of the separator tree has node 3 as its parent");
}
