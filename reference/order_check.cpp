#include "reference/order_check.hpp"

#include <algorithm>
#include <vector>

namespace gsofa::reference {

namespace {

// Position of each vertex; empty, with the reason in `fault`, if the order is no permutation.
std::vector<index_t> positions(const pattern_view& a, const ordering& o, std::string& fault) {
  std::vector<index_t> position(at(a.n_rows), -1);
  if (o.order.size() != at(a.n_rows)) {
    fault = "the order has " + std::to_string(o.order.size()) + " of " + std::to_string(a.n_rows) +
            " vertices";
    return {};
  }
  for (std::size_t k = 0; k < o.order.size(); ++k) {
    const index_t v = o.order[k];
    if (v < 0 || v >= a.n_rows) {
      fault = "position " + std::to_string(k) + " holds " + std::to_string(v) + ", no vertex";
      return {};
    }
    if (position[at(v)] != -1) {
      fault = "vertex " + std::to_string(v) + " stands at positions " +
              std::to_string(position[at(v)]) + " and " + std::to_string(k);
      return {};
    }
    position[at(v)] = static_cast<index_t>(k);
  }
  return position;
}

std::string fault_of_nodes(const separator_tree& t, index_t n) {
  const auto nodes = static_cast<index_t>(t.parent.size());
  if (t.start.size() != at(nodes) + 1 || t.start.front() != 0 || t.start.back() != n) {
    return "the nodes of the separator tree do not own each position once";
  }
  for (index_t k = 0; k < nodes; ++k) {
    const std::string node = "node " + std::to_string(k) + " of the separator tree";
    if (t.start[at(k)] > t.start[at(k) + 1]) return node + " ends before it begins";
    const index_t p = t.parent[at(k)];
    if (p != -1 && (p <= k || p >= nodes)) {
      return node + " has node " + std::to_string(p) + " as its parent";
    }
  }
  return "";
}

}  // namespace

std::string fault_of_order(const pattern_view& a, const ordering& o) {
  std::string fault;
  const std::vector<index_t> position = positions(a, o, fault);
  const separator_tree& t = o.separators;
  if (!fault.empty() || t.empty()) return fault;
  fault = fault_of_nodes(t, a.n_rows);
  if (!fault.empty()) return fault;
  std::vector<index_t> owner(at(a.n_rows));
  for (std::size_t k = 0; k < t.parent.size(); ++k) {
    for (index_t p = t.start[k]; p < t.start[k + 1]; ++p) owner[at(p)] = static_cast<index_t>(k);
  }
  for (index_t i = 0; i < a.n_rows; ++i) {
    for (const index_t j : a.row(i)) {
      const index_t high = std::max(owner[at(position[at(i)])], owner[at(position[at(j)])]);
      index_t node = std::min(owner[at(position[at(i)])], owner[at(position[at(j)])]);
      while (node != -1 && node < high) node = t.parent[at(node)];
      if (node != high) {
        return "entry (" + std::to_string(i) + ", " + std::to_string(j) +
               ") crosses a separator: neither of its nodes is an ancestor of the other";
      }
    }
  }
  return "";
}

}  // namespace gsofa::reference
