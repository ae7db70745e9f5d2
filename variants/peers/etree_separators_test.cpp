#include "variants/peers/etree_separators.hpp"

#include <doctest/doctest.h>

#include "common/pattern.hpp"
#include "common/preprocess.hpp"
#include "harness/check/test_patterns.hpp"

using namespace gsofa;

namespace {

struct range {
  index_t begin = 0, end = 0;
  [[nodiscard]] bool has(index_t v) const { return begin <= v && v < end; }
};

// The vertices of the subtree of node k of `width` nodes from node `level` on; all nodes of it must
// follow one another: left subtree, right subtree, separator.
range subtree(const detail::separator_tree& tree, std::size_t level, std::size_t width,
              std::size_t k, const pattern& s) {
  const index_t first = tree.first[level + k];
  const range own{first, first + tree.size[level + k]};
  if (level == 0) return own;
  const std::size_t below = level - 2 * width;
  const range left = subtree(tree, below, 2 * width, 2 * k, s);
  const range right = subtree(tree, below, 2 * width, 2 * k + 1, s);
  CHECK(left.end == right.begin);
  CHECK(right.end == own.begin);
  for (index_t i = left.begin; i < left.end; ++i) {
    for (const index_t j : s.row(i)) CHECK_FALSE(right.has(j));
  }
  return {left.begin, own.end};
}

detail::separator_tree check_cut(const pattern_view& a, int domains) {
  const pattern symmetric = symmetrized(a, diagonal::drop);
  const auto order = postorder(elimination_tree(symmetric));
  const pattern s = permute(symmetric, order, order);
  auto tree = detail::cut_etree(elimination_tree(s), domains);
  CHECK(tree.first.size() == static_cast<std::size_t>(2 * domains - 1));
  const range all = subtree(tree, tree.first.size() - 1, 1, 0, s);
  CHECK(all.begin == 0);
  CHECK(all.end == a.n_rows);
  return tree;
}

}  // namespace

TEST_CASE("ranges of a cut etree part the vertices, and no edge joins siblings") {
  std::vector<named_pattern> patterns = special_patterns();
  for (std::uint64_t k = 0; k < 300; ++k) patterns.push_back(random_pattern(3, k));
  for (const auto& p : patterns) {
    CAPTURE(p.name);
    for (const int domains : {1, 2, 4, 16}) check_cut(p.a, domains);
  }
}

TEST_CASE("the etree of a path is not cut, that of two paths between them") {
  auto bidiagonal = [](index_t n, index_t gap) {
    triplets t{.n_rows = n, .n_cols = n, .rows = {}, .cols = {}};
    for (index_t i = 0; i < n; ++i) {
      t.rows.push_back(i);
      t.cols.push_back(i);
      if (i == 0 || i == gap) continue;
      t.rows.push_back(i);
      t.cols.push_back(i - 1);
    }
    return from_triplets(t, duplicates::reject);
  };
  CHECK(check_cut(bidiagonal(7, -1), 2).size == std::vector<index_t>{7, 0, 0});
  CHECK(check_cut(bidiagonal(7, 3), 2).size == std::vector<index_t>{3, 4, 0});
}

TEST_CASE("a vertex over two subtrees is the separator") {
  // Vertex 5 is the root over 0, 1 and 2 .. 4, each a path.
  const triplets t{.n_rows = 6,
                   .n_cols = 6,
                   .rows = {0, 1, 2, 3, 4, 5, 1, 3, 4, 5, 5},
                   .cols = {0, 1, 2, 3, 4, 5, 0, 2, 3, 1, 4}};
  const auto tree = check_cut(from_triplets(t, duplicates::reject), 2);
  CHECK(tree.size == std::vector<index_t>{2, 3, 1});
  CHECK(tree.first == std::vector<index_t>{0, 2, 5});
}
