#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/partition_tree.hpp"
#include "common/pattern.hpp"
#include "experiments/solvers/cudss_solver.hpp"

/// The form of cuDSS's permutation and of its tree of separators, which NVIDIA does not document.
namespace cudss_solver {

struct tree_format {
  gsofa::partition::tree_layout layout = gsofa::partition::tree_layout::nested;
  gsofa::partition::node_order nodes = gsofa::partition::node_order::leaves_first;
  bool old_to_new = false;  ///< the permutation holds new positions by old index
};

/// "nested,leaves_first,new_to_old"
std::string name_of(const tree_format& f);
std::vector<tree_format> all_formats();
/// The format of this name; throws input_error for another text.
tree_format parse_format(const std::string& text);

/// Old index by new position.
std::vector<gsofa::index_t> order_of(const std::vector<std::int32_t>& permutation,
                                     const tree_format& f);
int levels_of(const outcome& found);
gsofa::partition::partition_tree tree_of(const outcome& found, const tree_format& f);

/// Entries of A that cross the separators of cuDSS's tree in this form; none if there is no tree,
/// or if its sizes do not add up to the order of A.
std::optional<gsofa::offset_t> crossing_of(const gsofa::pattern_view& a, const outcome& found,
                                           const tree_format& f);

}  // namespace cudss_solver
