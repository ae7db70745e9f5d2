// Separator trees for direct(): with merged subtrees and split nodes.

#include "variants/orderings/direction_nodes.hpp"

#include <algorithm>
#include <utility>

#include "common/preprocess.hpp"

namespace gsofa::orders {

std::vector<index_t> heads_of_subtrees(const separator_tree& t, index_t most) {
  const auto nodes = static_cast<index_t>(t.parent.size());
  std::vector<index_t> first(at(nodes));  // least node of the subtree
  std::vector<index_t> below(at(nodes), 1);
  for (index_t k = 0; k < nodes; ++k) first[at(k)] = k;
  for (index_t k = 0; k < nodes; ++k) {
    const index_t above = t.parent[at(k)];
    if (above < 0) continue;
    first[at(above)] = std::min(first[at(above)], first[at(k)]);
    below[at(above)] += below[at(k)];
  }
  std::vector<index_t> head(at(nodes));
  for (index_t k = nodes; k-- > 0;) {
    const index_t above = t.parent[at(k)];
    head[at(k)] = k;
    if (above < 0) continue;
    const index_t h = head[at(above)];
    const bool is_consecutive = below[at(h)] == h - first[at(h)] + 1;
    if (is_consecutive && t.start[at(h) + 1] - t.start[at(first[at(h)])] <= most) {
      head[at(k)] = h;
    }
  }
  return head;
}

separator_tree merge_nodes(const separator_tree& t, std::span<const index_t> head) {
  const std::size_t nodes = t.parent.size();
  separator_tree merged;
  std::vector<index_t> number(nodes, -1);  // of a head
  for (std::size_t k = 0; k < nodes; ++k) {
    if (at(head[k]) != k) continue;
    number[k] = static_cast<index_t>(merged.start.size()) - 1;
    merged.start.push_back(t.start[k + 1]);
  }
  for (std::size_t k = 0; k < nodes; ++k) {
    if (at(head[k]) != k) continue;
    const index_t above = t.parent[k];
    merged.parent.push_back(above < 0 ? -1 : number[at(head[at(above)])]);
  }
  return merged;
}

separator_tree split_nodes(const separator_tree& t, index_t most) {
  separator_tree split;
  std::vector<index_t> first(t.parent.size());  // of the parts of a node
  std::vector<index_t> last(t.parent.size());
  for (std::size_t k = 0; k < t.parent.size(); ++k) {
    const index_t end = t.start[k + 1];
    first[k] = static_cast<index_t>(split.start.size()) - 1;
    while (end - split.start.back() > most) split.start.push_back(split.start.back() + most);
    split.start.push_back(end);
    last[k] = static_cast<index_t>(split.start.size()) - 2;
  }
  for (std::size_t k = 0; k < t.parent.size(); ++k) {
    for (index_t part = first[k]; part < last[k]; ++part) split.parent.push_back(part + 1);
    split.parent.push_back(t.parent[k] < 0 ? -1 : first[at(t.parent[k])]);
  }
  return split;
}

}  // namespace gsofa::orders
