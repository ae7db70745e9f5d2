#include "common/preprocess.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <utility>

#include "common/augment.hpp"
#include "common/matching.hpp"

#ifdef GSOFA_HAVE_BTF
#include <btf.h>
#endif

namespace gsofa {

namespace {

// Operations of BTF's search for each entry: one path at a time, O(n nnz) in all. No real matrix of
// the studies needs more than 111, grids with exchanged rows need thousands.
[[maybe_unused]] constexpr double most_work = 128;

// Shortest paths, many at a time.
[[maybe_unused]] void complete(const pattern_view& a, transversal& t) {
  matchings::pairs m(a.n_rows);
  for (index_t j = 0; j < a.n_cols; ++j) {
    if (t.row_of_col[at(j)] != -1) m.match(t.row_of_col[at(j)], j);
  }
  matchings::augment(a, m);
  t.row_of_col = std::move(m.row_of_col);
  t.structural_rank = a.n_rows - static_cast<index_t>(std::ranges::count(t.row_of_col, -1));
}

}  // namespace

std::string matching_library() {
#ifdef GSOFA_HAVE_BTF
  return "BTF " + std::to_string(BTF_MAIN_VERSION) + "." + std::to_string(BTF_SUB_VERSION) + "." +
         std::to_string(BTF_SUBSUB_VERSION);
#else
  return "";
#endif
}

transversal maximum_transversal([[maybe_unused]] const pattern_view& a) {
#ifdef GSOFA_HAVE_BTF
  const int n_rows = a.n_rows;
  const int n_cols = a.n_cols;
  // BTF reads compressed columns; the rows of A are the columns of A^T, so that it returns for
  // each row of A the column matched to it.
  std::vector<int> ptr = narrow_offsets(a, "nonzeros for the matching");
  std::vector<int> idx(a.col_idx.begin(), a.col_idx.end());
  std::vector<int> match(at(n_cols), -1);
  std::vector<int> work(5 * at(n_rows) + 1);
  double operations = 0;
  transversal t;
  t.structural_rank = btf_maxtrans(n_cols, n_rows, ptr.data(), idx.data(), most_work, &operations,
                                   match.data(), work.data());
  // match[j] is the row of A matched to column j
  t.row_of_col.assign(match.begin(), match.end());
  if (operations < 0 && n_rows == n_cols) complete(a, t);  // most_work did not suffice
  return t;
#else
  throw needs_library("matching", "SuiteSparse BTF", "libsuitesparse-dev");
#endif
}

block_structure block_triangular_form([[maybe_unused]] const pattern_view& a) {
#ifdef GSOFA_HAVE_BTF
  const transversal t = maximum_transversal(a);
  if (t.structural_rank < a.n_rows) return {};
  const pattern matched = permute(a, t.row_of_col, identity_order(a.n_cols));
  std::vector<int> ptr = narrow_offsets(matched, "nonzeros for the block triangular form");
  std::vector<int> idx = matched.col_idx;
  std::vector<int> p(at(a.n_rows) + 1);
  std::vector<int> r(at(a.n_rows) + 1);
  std::vector<int> work(4 * at(a.n_rows) + 1);
  block_structure b;
  b.blocks =
      btf_strongcomp(a.n_rows, ptr.data(), idx.data(), nullptr, p.data(), r.data(), work.data());
  for (index_t k = 0; k < b.blocks; ++k) {
    b.largest = std::max(b.largest, r[at(k) + 1] - r[at(k)]);
  }
  return b;
#else
  throw needs_library("the block triangular form", "SuiteSparse BTF", "libsuitesparse-dev");
#endif
}

namespace {

// Row i of a symmetric pattern is the union of the lists of rows(i), with place(v) for each v.
template <class Rows, class Place>
std::vector<index_t> tree_of(index_t n, const Rows& rows, const Place& place) {
  std::vector<index_t> parent(at(n), -1);
  std::vector<index_t> ancestor(at(n), -1);
  for (index_t i = 0; i < n; ++i) {
    for (const std::span<const index_t> row : rows(i)) {
      for (const index_t v : row) {
        index_t k = place(v);
        // Climb from k towards i; every vertex passed gets i as its ancestor.
        while (k != -1 && k < i) {
          const index_t next = ancestor[at(k)];
          ancestor[at(k)] = i;
          if (next == -1) parent[at(k)] = i;
          k = next;
        }
      }
    }
  }
  return parent;
}

}  // namespace

std::vector<index_t> elimination_tree(const pattern_view& s) {
  return tree_of(
      s.n_rows, [&](index_t i) { return std::array{s.row(i)}; }, std::identity());
}

std::vector<index_t> elimination_tree_of_sum(const pattern_view& a, const pattern_view& t) {
  return tree_of(
      a.n_rows,
      [&](index_t i) {
        return std::array{a.row(i), t.row(i)};
      },
      std::identity());
}

std::vector<index_t> elimination_tree_of_sum(const pattern_view& a, const pattern_view& t,
                                             std::span<const index_t> order) {
  const std::vector<index_t> place = inverse_permutation(order);
  return tree_of(
      a.n_rows,
      [&](index_t i) {
        const index_t v = order[at(i)];
        return std::array{a.row(v), t.row(v)};
      },
      [&](index_t v) { return place[at(v)]; });
}

std::vector<index_t> postorder(std::span<const index_t> parent) {
  const auto n = static_cast<index_t>(parent.size());
  std::vector<index_t> first_child(at(n), -1);
  std::vector<index_t> sibling(at(n), -1);
  std::vector<index_t> order;
  order.reserve(at(n));
  for (index_t v = n - 1; v >= 0; --v) {
    if (parent[at(v)] == -1) continue;
    sibling[at(v)] = first_child[at(parent[at(v)])];
    first_child[at(parent[at(v)])] = v;
  }
  std::vector<index_t> stack;
  for (index_t root = 0; root < n; ++root) {
    if (parent[at(root)] != -1) continue;
    stack.push_back(root);
    while (!stack.empty()) {
      const index_t v = stack.back();
      const index_t child = first_child[at(v)];
      if (child == -1) {
        order.push_back(v);
        stack.pop_back();
      } else {
        first_child[at(v)] = sibling[at(child)];
        stack.push_back(child);
      }
    }
  }
  return order;
}

matched_pattern match_diagonal(pattern a, const std::string& match, std::span<const double> values,
                               int threads) {
  const index_t missing = count_missing_diagonal(a);
  matched_pattern m{.structural_rank = a.n_rows};
  std::vector<index_t> rows = identity_order(a.n_rows);
  if (match == match_none) {
    m.how = "none";
    m.diagonal_added = missing;
    if (missing != 0) a = with_diagonal(a);
  } else if (match != match_auto) {
    row_matching found = compute_matching(a, values, match, {.threads = threads});
    m.how = match;
    m.note = std::move(found.how);
    m.structural_rank = found.structural_rank;
    if (found.structural_rank < a.n_rows) return m;
    rows = std::move(found.row_of_col);
    a = permute(a, rows, identity_order(a.n_cols));
  } else if (missing == 0) {
    m.how = "kept";
  } else {
    m.how = "maximum";
    transversal t = maximum_transversal(a);
    m.structural_rank = t.structural_rank;
    if (t.structural_rank < a.n_rows) return m;
    rows = std::move(t.row_of_col);
    a = permute(a, rows, identity_order(a.n_cols));
  }
  m.matched = {std::move(a), std::move(rows), identity_order(m.structural_rank)};
  return m;
}

void reorder(permuted_pattern& p, std::span<const index_t> order, bool postordered) {
  std::vector<index_t> total(order.begin(), order.end());
  permutation_workspace workspace;
  pattern permuted;
  permute_into(p.a, order, order, workspace, permuted);
  if (postordered) {
    const std::vector<index_t> post =
        postorder(elimination_tree_of_sum(permuted, workspace.transposed));
    for (std::size_t k = 0; k < total.size(); ++k) total[k] = order[at(post[k])];
    permute_into(p.a, total, total, workspace, permuted);
  }
  p.a = std::move(permuted);
  std::vector<index_t> rows(total.size());
  std::vector<index_t> columns(total.size());
  for (std::size_t k = 0; k < total.size(); ++k) {
    rows[k] = p.row_order[at(total[k])];
    columns[k] = p.col_order[at(total[k])];
  }
  p.row_order = std::move(rows);
  p.col_order = std::move(columns);
}

namespace {

ordered_pattern matched_by(const std::string& match, pattern a, const prepare_options& options,
                           std::span<const double> values) {
  const index_t n = a.n_rows;
  ordered_pattern out{.matching = match_diagonal(std::move(a), match, values, options.threads),
                      .order = {}};
  if (out.matching.structural_rank == n) {
    out.order = compute_order(out.matching.matched.a, options.order, options.seed, options.threads);
  }
  return out;
}

}  // namespace

ordered_pattern match_and_order(pattern a, const prepare_options& options,
                                std::span<const double> values) {
  const index_t n = a.n_rows;
  ordered_pattern out = matched_by(options.match, std::move(a), options, values);
  if (out.matching.structural_rank < n) return out;
  const double contested_s = out.order.contested_s;
  const permuted_pattern& first = out.matching.matched;
  const bool is_matched = options.match == match_auto && out.matching.how != "kept";
  if (is_matched && symmetric_may_pay(contested_s, first.a.nnz())) {
    pattern given = permute(first.a, inverse_permutation(first.row_order), identity_order(n));
    ordered_pattern other = matched_by("symmetric", std::move(given), options, values);
    if (other.order.contested_s < contested_s) out = std::move(other);
  }
  permuted_pattern& p = out.matching.matched;
  out.postordered = out.order.method != "natural";
  if (out.postordered) reorder(p, out.order.order, true);
  out.order.order.clear();
  return out;
}

}  // namespace gsofa
