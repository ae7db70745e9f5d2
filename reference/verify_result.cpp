#include "reference/verify_result.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>

#include "common/digest.hpp"
#include "reference/row_union.hpp"
#include "reference/supernodes.hpp"

namespace gsofa::reference {

namespace {

std::string entry(index_t i, index_t j) {
  return std::string("(") + std::to_string(i) + "," + std::to_string(j) + ")";
}

std::string hex(std::uint64_t v) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(v));
  return text;
}

std::string expected(const std::string& want, const std::string& got) {
  return "expected " + want + ", got " + got;
}

verdict fault(std::string reason) { return {false, std::move(reason)}; }

std::string size_fault(std::size_t got, index_t n, const char* what) {
  if (got == at(n)) return {};
  return std::string(what) + ": " + expected(std::to_string(n), std::to_string(got)) + " entries";
}

// First difference between two sorted factors.
std::string pattern_difference(const pattern_view& want, const pattern_view& got,
                               const char* name) {
  for (index_t i = 0; i < want.n_rows; ++i) {
    const auto x = want.row(i);
    const auto y = got.row(i);
    const auto [p, q] = std::ranges::mismatch(x, y);
    if (p == x.end() && q == y.end()) continue;
    const std::string row = std::string(name) + ": row " + std::to_string(i) + ": ";
    if (p != x.end() && (q == y.end() || *p < *q)) return row + entry(i, *p) + " is missing";
    return row + entry(i, *q) + " is not in the fill";
  }
  return {};
}

template <class T, class Show>
std::string row_difference(const std::vector<T>& want, const std::vector<T>& got, const char* what,
                           Show show) {
  const auto [p, q] = std::ranges::mismatch(want, got);
  if (p == want.end() || q == got.end()) return {};
  return std::string(what) + " of row " + std::to_string(p - want.begin()) + ": " +
         expected(show(*p), show(*q));
}

std::string show_count(offset_t v) { return std::to_string(v); }

std::string supernode_difference(const std::vector<index_t>& want,
                                 const std::vector<index_t>& got) {
  const auto [p, q] = std::ranges::mismatch(want, got);
  if (p == want.end() && q == got.end()) return {};
  if (p != want.end() && (q == got.end() || *p < *q)) {
    return "supernodes: row " + std::to_string(*p) + " must start supernode " +
           std::to_string(p - want.begin()) + " but continues the one before";
  }
  return "supernodes: row " + std::to_string(*q) + " starts supernode " +
         std::to_string(q - got.begin()) + " but belongs to the one before";
}

// Checks the sizes and ranges of all requested results except the supernodes, and the form of the
// starts of the supernodes.
std::string form_fault(const result& got, want_set wants, index_t n, index_t chunk_size) {
  if (wants.has(want::pattern)) {
    if (const verdict v = check_structure(got.l, got.u, n); !v.ok) return v.reason;
  }
  if (wants.has(want::counts)) {
    std::string why = size_fault(got.l_row_counts.size(), n, "row counts of L");
    if (why.empty()) why = size_fault(got.u_row_counts.size(), n, "row counts of U");
    if (!why.empty()) return why;
  }
  if (wants.has(want::digest)) {
    if (std::string why = size_fault(got.row_digests.size(), n, "row digests"); !why.empty()) {
      return why;
    }
  }
  if (wants.has(want::supernodes)) {
    const auto& starts = got.supernode_starts;
    if (starts.empty() != (n == 0)) {
      return "supernodes: " + std::to_string(starts.size()) + " for order " + std::to_string(n);
    }
    for (std::size_t b = 0; b < starts.size(); ++b) {
      const index_t s = starts[b];
      if (b == 0 && s != 0) {
        return "supernodes: the first starts at row " + std::to_string(s) + ", not 0";
      }
      if (s < 0 || s >= n) {
        return "supernodes: start " + std::to_string(s) + " is outside [0, " + std::to_string(n) +
               ")";
      }
      if (b > 0 && s <= starts[b - 1]) {
        return "supernodes: start " + std::to_string(s) + " after " +
               std::to_string(starts[b - 1]) + " is not ascending";
      }
    }
    for (std::size_t b = 0; chunk_size > 0 && b < starts.size(); ++b) {
      const index_t s = starts[b];
      const index_t last = (b + 1 < starts.size() ? starts[b + 1] : n) - 1;
      if (s / chunk_size != last / chunk_size) {
        return "supernodes: rows " + std::to_string(s) + " to " + std::to_string(last) +
               " cross a multiple of the chunk size " + std::to_string(chunk_size);
      }
    }
  }
  return {};
}

void check_chunk_size(index_t chunk_size) {
  if (chunk_size < 0) throw input_error("the chunk size is negative");
}

}  // namespace

truth make_truth(const pattern_view& filled) {
  validate(filled, "filled pattern");
  const index_t n = filled.n_rows;
  if (filled.n_cols != n) throw input_error("filled pattern: not square");
  truth t;
  t.l.n_rows = t.l.n_cols = t.u.n_rows = t.u.n_cols = n;
  for (index_t i = 0; i < n; ++i) {
    const auto row = filled.row(i);
    const auto split = std::ranges::lower_bound(row, i);
    if (split == row.end() || *split != i) {
      throw input_error("filled pattern: the diagonal of row " + std::to_string(i) +
                        " is structurally zero");
    }
    t.l.col_idx.insert(t.l.col_idx.end(), row.begin(), split);
    t.u.col_idx.insert(t.u.col_idx.end(), split, row.end());
    t.l.row_ptr.push_back(static_cast<offset_t>(t.l.col_idx.size()));
    t.u.row_ptr.push_back(static_cast<offset_t>(t.u.col_idx.size()));
    t.l_row_counts.push_back(static_cast<index_t>(split - row.begin()));
    t.u_row_counts.push_back(static_cast<index_t>(row.end() - split));
    t.row_digests.push_back(row_digest(i, row));
    t.digest += t.row_digests.back();
  }
  t.nnz_l = t.l.nnz();
  t.nnz_u = t.u.nnz();
  return t;
}

verdict compare(const truth& expected_result, const result& got, want_set wants,
                index_t chunk_size) {
  check_chunk_size(chunk_size);
  const truth& t = expected_result;
  if (std::string why = form_fault(got, wants, t.u.n_rows, chunk_size); !why.empty()) {
    return fault(std::move(why));
  }
  if (wants.has(want::pattern)) {
    std::string why = pattern_difference(t.l, got.l, "L");
    if (why.empty()) why = pattern_difference(t.u, got.u, "U");
    if (!why.empty()) return fault(std::move(why));
  }
  if (wants.has(want::counts)) {
    std::string why = row_difference(t.l_row_counts, got.l_row_counts, "L count", show_count);
    if (why.empty()) {
      why = row_difference(t.u_row_counts, got.u_row_counts, "U count", show_count);
    }
    if (!why.empty()) return fault(std::move(why));
  }
  if (wants.has(want::digest)) {
    std::string why = row_difference(t.row_digests, got.row_digests, "digest", hex);
    if (!why.empty()) return fault(std::move(why));
    if (t.digest != got.digest) {
      return fault("digest of L+U: " + expected(hex(t.digest), hex(got.digest)));
    }
  }
  if (wants.has(want::supernodes)) {
    std::string why =
        supernode_difference(t3_supernodes(t.l, t.u, chunk_size), got.supernode_starts);
    if (!why.empty()) return fault(std::move(why));
  }
  if (t.nnz_l != got.nnz_l) {
    return fault("nnz_l: " + expected(std::to_string(t.nnz_l), std::to_string(got.nnz_l)));
  }
  if (t.nnz_u != got.nnz_u) {
    return fault("nnz_u: " + expected(std::to_string(t.nnz_u), std::to_string(got.nnz_u)));
  }
  return {};
}

pattern pattern_of(const pattern_view& a, const result& got) {
  if (got.row_order.empty() && got.col_order.empty()) {
    return {a.n_rows,
            a.n_cols,
            {a.row_ptr.begin(), a.row_ptr.end()},
            {a.col_idx.begin(), a.col_idx.end()}};
  }
  validate_permutation(got.row_order, a.n_rows, "row order of the result");
  validate_permutation(got.col_order, a.n_rows, "column order of the result");
  pattern moved = permute(a, got.row_order, got.col_order);
  if (const index_t missing = count_missing_diagonal(moved); missing > 0) {
    throw input_error("order of the result: leaves " + std::to_string(missing) +
                      " zeros on the diagonal");
  }
  return moved;
}

verdict compare_in_order(const pattern_view& a, const truth& expected, const result& got,
                         want_set wants, index_t chunk_size) {
  if (got.row_order.empty() && got.col_order.empty()) {
    return compare(expected, got, wants, chunk_size);
  }
  try {
    return compare(make_truth(row_union(pattern_of(a, got))), got, wants, chunk_size);
  } catch (const input_error& e) {
    return fault(e.what());
  }
}

verdict check_consistency(const result& got, want_set wants, index_t n, index_t chunk_size) {
  check_chunk_size(chunk_size);
  if (std::string why = form_fault(got, wants, n, chunk_size); !why.empty()) {
    return fault(std::move(why));
  }
  const auto most_l = offset_t{n} * (offset_t{n} - 1) / 2;
  if (got.nnz_l < 0 || got.nnz_l > most_l) {
    return fault("nnz_l: " + std::to_string(got.nnz_l) + " is outside [0, " +
                 std::to_string(most_l) + "]");
  }
  if (got.nnz_u < n || got.nnz_u > most_l + n) {
    return fault("nnz_u: " + std::to_string(got.nnz_u) + " is outside [" + std::to_string(n) +
                 ", " + std::to_string(most_l + n) + "]");
  }
  if (wants.has(want::counts)) {
    for (index_t i = 0; i < n; ++i) {
      const index_t in_l = got.l_row_counts[at(i)];
      const index_t in_u = got.u_row_counts[at(i)];
      if (in_l < 0 || in_l > i) {
        return fault("L count of row " + std::to_string(i) + ": " + std::to_string(in_l) +
                     " is outside [0, " + std::to_string(i) + "]");
      }
      if (in_u < 1 || in_u > n - i) {
        return fault("U count of row " + std::to_string(i) + ": " + std::to_string(in_u) +
                     " is outside [1, " + std::to_string(n - i) + "]");
      }
    }
    const auto sum_l =
        std::accumulate(got.l_row_counts.begin(), got.l_row_counts.end(), offset_t{0});
    const auto sum_u =
        std::accumulate(got.u_row_counts.begin(), got.u_row_counts.end(), offset_t{0});
    if (sum_l != got.nnz_l) {
      return fault("nnz_l is " + std::to_string(got.nnz_l) + ", but the counts of L sum to " +
                   std::to_string(sum_l));
    }
    if (sum_u != got.nnz_u) {
      return fault("nnz_u is " + std::to_string(got.nnz_u) + ", but the counts of U sum to " +
                   std::to_string(sum_u));
    }
  }
  if (wants.has(want::digest)) {
    const auto sum =
        std::accumulate(got.row_digests.begin(), got.row_digests.end(), std::uint64_t{0});
    if (sum != got.digest) {
      return fault("digest is " + hex(got.digest) + ", but the row digests sum to " + hex(sum));
    }
  }
  if (wants.has(want::pattern)) {
    for (index_t i = 0; i < n; ++i) {
      const std::string row = std::to_string(i);
      const auto in_l = std::ssize(got.l.row(i));
      const auto in_u = std::ssize(got.u.row(i));
      if (wants.has(want::counts) && in_l != got.l_row_counts[at(i)]) {
        return fault("L count of row " + row + " is " + std::to_string(got.l_row_counts[at(i)]) +
                     ", but its pattern has " + std::to_string(in_l));
      }
      if (wants.has(want::counts) && in_u != got.u_row_counts[at(i)]) {
        return fault("U count of row " + row + " is " + std::to_string(got.u_row_counts[at(i)]) +
                     ", but its pattern has " + std::to_string(in_u));
      }
      if (wants.has(want::digest)) {
        const std::uint64_t d = row_digest(i, got.l.row(i)) + row_digest(i, got.u.row(i));
        if (d != got.row_digests[at(i)]) {
          return fault("digest of row " + row + " is " + hex(got.row_digests[at(i)]) +
                       ", but its pattern gives " + hex(d));
        }
      }
    }
    if (got.l.nnz() != got.nnz_l) {
      return fault("nnz_l is " + std::to_string(got.nnz_l) + ", but the pattern of L has " +
                   std::to_string(got.l.nnz()));
    }
    if (got.u.nnz() != got.nnz_u) {
      return fault("nnz_u is " + std::to_string(got.nnz_u) + ", but the pattern of U has " +
                   std::to_string(got.u.nnz()));
    }
  }
  if (wants.has(want::supernodes)) {
    if (wants.has(want::pattern)) {
      std::string why =
          supernode_difference(t3_supernodes(got.l, got.u, chunk_size), got.supernode_starts);
      if (!why.empty()) return fault(std::move(why));
    } else if (wants.has(want::counts)) {
      std::size_t next = 0;
      for (index_t s = 0; s < n; ++s) {
        if (next < got.supernode_starts.size() && got.supernode_starts[next] == s) {
          ++next;
        } else if (got.u_row_counts[at(s)] != got.u_row_counts[at(s) - 1] - 1) {
          return fault("supernodes: row " + std::to_string(s) + " continues a supernode, but |U(" +
                       std::to_string(s) + ",:)| = " + std::to_string(got.u_row_counts[at(s)]) +
                       " is not |U(" + std::to_string(s - 1) + ",:)| - 1");
        }
      }
    }
  }
  return {};
}

}  // namespace gsofa::reference
