#include "experiments/solvers/tree_format.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "common/error.hpp"

namespace cudss_solver {

using namespace gsofa;
using partition::node_order;
using partition::partition_tree;
using partition::tree_layout;

namespace {

const std::map<std::string, tree_layout> layout_names{{"nested", tree_layout::nested},
                                                      {"by_level", tree_layout::by_level}};
const std::map<std::string, node_order> node_names{{"leaves_first", node_order::leaves_first},
                                                   {"root_first", node_order::root_first},
                                                   {"postorder", node_order::postorder}};
const std::map<std::string, bool> permutation_names{{"new_to_old", false}, {"old_to_new", true}};

template <class Value>
std::string name_in(const std::map<std::string, Value>& names, Value value) {
  return std::ranges::find_if(names, [&](const auto& n) { return n.second == value; })->first;
}

}  // namespace

std::string name_of(const tree_format& f) {
  return name_in(layout_names, f.layout) + "," + name_in(node_names, f.nodes) + "," +
         name_in(permutation_names, f.old_to_new);
}

std::vector<tree_format> all_formats() {
  std::vector<tree_format> all;
  for (const node_order nodes :
       {node_order::leaves_first, node_order::root_first, node_order::postorder}) {
    for (const tree_layout layout : {tree_layout::nested, tree_layout::by_level}) {
      for (const bool inverse : {false, true}) all.push_back({layout, nodes, inverse});
    }
  }
  return all;
}

tree_format parse_format(const std::string& text) {
  for (const tree_format& f : all_formats()) {
    if (name_of(f) == text) return f;
  }
  throw input_error("--format " + text + ": is none, such as " + name_of({}));
}

std::vector<index_t> order_of(const std::vector<std::int32_t>& permutation, const tree_format& f) {
  validate_permutation(permutation, static_cast<index_t>(permutation.size()),
                       "the permutation of cuDSS");
  return f.old_to_new ? inverse_permutation(permutation) : permutation;
}

int levels_of(const outcome& found) { return static_cast<int>(std::bit_width(found.tree.size())); }

partition_tree tree_of(const outcome& found, const tree_format& f) {
  const int levels = levels_of(found);
  return {.levels = levels,
          .layout = f.layout,
          .size = partition::leaves_first(found.tree, levels, f.nodes),
          .order = order_of(found.permutation, f)};
}

std::optional<offset_t> crossing_of(const pattern_view& a, const outcome& found,
                                    const tree_format& f) {
  if (found.tree.empty()) return {};
  try {
    return partition::crossing_entries(a, tree_of(found, f));
  } catch (const input_error&) {
    return {};
  }
}

}  // namespace cudss_solver
