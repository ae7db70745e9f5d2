#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "common/elimination_forest.hpp"
#include "common/order_quality.hpp"
#include "common/preprocess.hpp"
#include "harness/library/cpp/analyze.hpp"
#include "harness/library/cpp/elimination_input.hpp"
#include "harness/library/cpp/errors.hpp"
#include "harness/library/cpp/factorize.hpp"
#include "harness/library/cpp/options.hpp"
#include "harness/library/cpp/progress.hpp"

namespace gsofa::library {

namespace {

constexpr offset_t value_bytes = sizeof(double);
constexpr offset_t fixed_bytes = 16 << 20;  // of threads, of libraries, and what malloc keeps

offset_t sum(std::span<const index_t> values) {
  return std::accumulate(values.begin(), values.end(), offset_t{0});
}

// Entries that A and its transpose have in common, the diagonal among them.
offset_t common_entries(const pattern_view& a, const pattern_view& t) {
  offset_t count = 0;
  for (index_t i = 0; i < a.n_rows; ++i) {
    const auto row = a.row(i), column = t.row(i);
    for (std::size_t p = 0, q = 0; p < row.size() && q < column.size();) {
      const index_t left = row[p], right = column[q];
      count += left == right ? 1 : 0;
      p += left <= right ? 1 : 0;
      q += right <= left ? 1 : 0;
    }
  }
  return count;
}

// The parents of a forest, numbered by a postorder of it.
std::vector<index_t> postordered_parents(std::span<const index_t> parent,
                                         std::span<const index_t> post) {
  const std::vector<index_t> place = inverse_permutation(post);
  std::vector<index_t> up;
  up.reserve(post.size());
  for (const index_t v : post) up.push_back(parent[at(v)] == -1 ? -1 : place[at(parent[at(v)])]);
  return up;
}

// First vertices of panels as cpu_bitmap_panels cuts them, and n: ranges of at most 64 vertices of
// a postorder that have one parent outside, or none.
std::vector<index_t> panels_of(std::span<const index_t> up) {
  constexpr index_t width = 64;
  std::vector<index_t> begin, outside;
  for (index_t k = 0; at(k) < up.size(); ++k) {
    const bool goes_on = k > 0 && up[at(k) - 1] == k && k - begin.back() < width;
    if (goes_on) {
      outside.back() = up[at(k)];
    } else {
      begin.push_back(k);
      outside.push_back(up[at(k)]);
    }
    while (begin.size() > 1 && outside[outside.size() - 2] == up[at(k)] &&
           k + 1 - begin[begin.size() - 2] <= width) {
      begin.pop_back();
      outside.pop_back();
    }
  }
  begin.push_back(static_cast<index_t>(up.size()));
  return begin;
}

// Positions of these panels, at most. The boundary of a subtree is the column of its root. Several
// subtrees side by side have one parent: their boundary is this parent and lies in its column. up,
// counts: in a postorder.
offset_t panel_positions(std::span<const index_t> up, std::span<const index_t> counts) {
  const std::vector<index_t> begin = panels_of(up);
  auto positions = static_cast<offset_t>(up.size());
  for (std::size_t j = 0; j + 1 < begin.size(); ++j) {
    const index_t last = begin[j + 1] - 1;
    bool one_tree = true;
    for (index_t k = begin[j]; k < last; ++k) {
      one_tree = one_tree && up[at(k)] <= last && up[at(k)] != -1;
    }
    if (one_tree) {
      positions += counts[at(last)];
    } else if (up[at(last)] != -1) {
      positions += 1 + offset_t{counts[at(up[at(last)])]};
    }
  }
  return positions;
}

// Values that a multifrontal factorization holds at most. up, counts: in a postorder.
offset_t multifrontal_values(std::span<const index_t> up, std::span<const index_t> counts) {
  std::vector<index_t> rows(counts.begin(), counts.end());
  for (index_t& count : rows) ++count;
  order_quality q;
  count_fronts(up, counts, rows, q);
  return q.peak_entries;
}

// Bytes of the supernodal lists of chol(A + A^T).
offset_t supernodal_bytes(std::span<const index_t> parent, std::span<const index_t> counts,
                          index_t most_columns) {
  const std::size_t n = parent.size();
  std::vector<std::uint8_t> joins(n, 0);
  for (std::size_t j = 1; j < n; ++j) {
    joins[j] = parent[j - 1] == static_cast<index_t>(j) && counts[j] == counts[j - 1] - 1 ? 1 : 0;
  }
  const std::vector<index_t> begin = cut_supernodes(joins, {.most_columns = most_columns});
  offset_t rows = 0, segments = 0;
  for (std::size_t s = 0; s + 1 < begin.size(); ++s) {
    const offset_t width = begin[s + 1] - begin[s];
    const offset_t length = 1 + offset_t{counts[at(begin[s])]};
    rows += length;
    segments += length - width;
  }
  return 12 * static_cast<offset_t>(begin.size()) + 8 * (static_cast<offset_t>(n) + 1) +
         4 * (rows + segments);
}

offset_t result_bytes(const analysis_options& o, const fill_estimate& f, index_t n) {
  const offset_t rows = n;
  offset_t bytes = 16 * rows;
  const offset_t factors = 16 * (rows + 1) + 4 * (f.nnz_l + f.nnz_u);
  if (o.factors) bytes += factors;
  if (o.factor_columns) bytes += factors;
  if (o.supernodes) bytes += 4 * rows;
  if (o.tree) bytes += 8 * rows;
  return bytes;
}

// What eliminating `e`, which permute_for_elimination() has made of `in`, takes at most; `out` has
// the orders and nnz_a.
fill_estimate estimate_of(const checked_input& in, const analysis_options& options,
                          const elimination_input& e, const workspace& w, const analysis& out) {
  fill_estimate f;
  f.permutation = out.col_order;
  f.nnz_a = out.nnz_a;
  const pattern_view& a = e.a;
  const offset_t n = a.n_rows, z = a.nnz();
  f.symmetric = true;
  offset_t off_diagonal = 0, positions = 0, lists = 0;
  if (n > 0) {
    const pattern t = transpose(a);
    const std::vector<index_t> parent = elimination_tree_of_sum(a, t);
    const std::vector<index_t> counts = counts_of_cholesky(a, t, parent).columns;
    const offset_t common = common_entries(a, t);
    f.symmetric = common == z;
    off_diagonal = 2 * z - common - n;
    f.nnz_l = sum(counts);
    f.nnz_u = f.nnz_l + n;
    for (const index_t count : counts) f.flops += count + 2.0 * count * count;
    const std::vector<index_t> post = postorder(parent);
    const std::vector<index_t> up = postordered_parents(parent, post);
    std::vector<index_t> by_post;
    for (const index_t v : post) by_post.push_back(counts[at(v)]);
    positions = panel_positions(up, by_post);
    f.supernodal_bytes = value_bytes * (f.nnz_l + f.nnz_u);
    f.multifrontal_bytes = value_bytes * multifrontal_values(up, by_post);
    if (options.supernodal) lists = supernodal_bytes(parent, counts, options.most_columns);
  }
  f.result_bytes = result_bytes(options, f, out.n) + lists;
  const order_method method = options.order.method;
  const bool orders = method != order_method::natural && method != order_method::given;
  const bool dissects = method == order_method::automatic || method == order_method::tournament ||
                        method == order_method::cpu_nested_dissection ||
                        method == order_method::gpu_nested_dissection;
  const offset_t order = dissects ? 160 * n + 24 * z + 40 * off_diagonal
                         : orders ? 32 * n + 4 * z + 8 * off_diagonal
                                  : 0;
  const offset_t match = in.missing > 0 ? 28 * n + 12 * z : 0;
  const offset_t permute = 48 * n + 8 * z;
  const offset_t analyze = (f.symmetric ? 64 : 80) * n + (f.symmetric ? 4 : 8) * z + 36 * positions;
  const offset_t copies = 8 * static_cast<offset_t>(w.arrays.row_ptr.size()) +
                          4 * static_cast<offset_t>(w.arrays.col_idx.size());
  f.working_bytes = fixed_bytes + copies + std::max({order, match, permute, analyze});
  return f;
}

fill_estimate estimate_rows(const checked_input& given, const analysis_options& options,
                            workspace& w, supervision& s) {
  check_options(options, given.a.n_rows);
  const checked_input in = whole_matrix(given, options, w.whole);
  const bool on_device = choose_variants(options).front()->device == "gpu";
  analysis out;
  begin_result(in.a.n_rows, w, out);
  elimination_input e;
  e.a = in.a;
  permute_for_elimination(in, options, on_device, e, w, s, out);
  return estimate_of(in, options, e, w, out);
}

}  // namespace

fill_estimate estimate_given(const given_pattern& a, const analysis_options& options) {
  return reporting([&] {
    const auto kept = left_in_child<std::pair<fill_estimate, workspace>>();
    auto& [found, w] = *kept;
    supervise(options, [&](supervision& s) {
      if (a.of == given_pattern::form::rows) {
        found = estimate_rows(read(a, w.arrays), options, w, s);
        return;
      }
      // Rows are a copy in any case.
      const input_rows rows(a);
      found = estimate_rows(rows.in, options, w, s);
      found.working_bytes += 8 * (offset_t{rows.in.a.n_rows} + 1) + 4 * rows.in.a.nnz();
    });
    return std::move(kept->first);
  });
}

}  // namespace gsofa::library
