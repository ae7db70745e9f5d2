#include "variants/orderings/ordered_tree.hpp"

#include "common/elimination_forest.hpp"
#include "common/preprocess.hpp"

namespace gsofa {

ordered_tree tree_of_order(const pattern_view& s, const std::vector<index_t>& order,
                           std::span<const index_t> weight) {
  const pattern p = permute(s, order, order);
  const std::vector<index_t> parent = elimination_tree(p);
  std::vector<index_t> weights(weight.size());
  for (std::size_t k = 0; k < weight.size(); ++k) weights[k] = weight[at(order[k])];
  const cholesky_counts counts = counts_of_cholesky(p, p, parent, weights);
  const std::vector<index_t> post = postorder(parent);
  const std::vector<index_t> place = inverse_permutation(post);
  ordered_tree t;
  for (std::vector<index_t>* member : {&t.order, &t.parent, &t.counts, &t.row_counts}) {
    member->reserve(post.size());
  }
  for (const index_t v : post) {
    t.order.push_back(order[at(v)]);
    t.parent.push_back(parent[at(v)] == -1 ? -1 : place[at(parent[at(v)])]);
    t.counts.push_back(counts.columns[at(v)]);
    t.row_counts.push_back(counts.rows[at(v)]);
  }
  for (std::size_t k = 0; k < post.size(); ++k) {
    const index_t vertices = weight.empty() ? 1 : weight[at(t.order[k])];
    for (double c = t.counts[k], end = c + vertices; c < end; ++c) {
      t.entries += static_cast<offset_t>(c);
      t.operations += c + 2 * c * c;
    }
  }
  return t;
}

}  // namespace gsofa
