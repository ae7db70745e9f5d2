// Deliberately wrong orders: each must be rejected by `gsofa check`.
//
// All begin with a right dissection of the vertices into halves by number, whose separator are the
// vertices of the first half that have a neighbour in the second.

#include <utility>

#include "common/ordering.hpp"

namespace gsofa {
namespace {

// Node 0: the first half without the separator; node 1: the second half; node 2: the separator.
ordering by_halves(const pattern_view& a) {
  const pattern s = symmetrized(a, diagonal::drop);
  const index_t half = a.n_rows / 2;
  std::vector<index_t> parts[3];
  for (index_t v = 0; v < a.n_rows; ++v) {
    const auto row = s.row(v);
    const bool crosses = v < half && !row.empty() && row.back() >= half;
    parts[crosses ? 2 : v < half ? 0 : 1].push_back(v);
  }
  ordering o{.order = {}, .method = {}, .library = {}};
  for (const auto& part : parts) {
    o.order.insert(o.order.end(), part.begin(), part.end());
    o.separators.start.push_back(static_cast<index_t>(o.order.size()));
  }
  o.separators.parent = {2, 2, -1};
  return o;
}

ordering lost_vertex(const pattern_view& a, const order_settings&) {
  ordering o = by_halves(a);
  if (!o.order.empty()) o.order.pop_back();
  return o;
}

ordering repeated_vertex(const pattern_view& a, const order_settings&) {
  ordering o = by_halves(a);
  if (!o.order.empty()) o.order.front() = o.order.back();
  return o;
}

ordering crossing_edge(const pattern_view& a, const order_settings&) {
  ordering o = by_halves(a);
  separator_tree& t = o.separators;
  // The first vertex of the separator becomes the last one of the second half.
  if (t.start[2] < t.start[3]) ++t.start[2];
  return o;
}

struct fault {
  const char* name;
  const char* what;
  ordering (*compute)(const pattern_view&, const order_settings&);
};

constexpr fault faults[] = {
    {"planted_order_lost_vertex", "a vertex is not in the order", lost_vertex},
    {"planted_order_repeated_vertex", "a vertex replaces another vertex", repeated_vertex},
    {"planted_order_crossing_edge", "an edge crosses a separator", crossing_edge},
};

order_info describe(std::size_t k) {
  const fault& f = faults[k];
  return {.name = f.name,
          .device = "cpu",
          .summary = std::string("deliberately wrong: ") + f.what,
          .citation = "variants/README.md: every check must be able to fail",
          .dissects = true,
          .planted = f.what,
          .compute = f.compute};
}

}  // namespace

GSOFA_REGISTER(order_info, std::size(faults), describe);

}  // namespace gsofa
