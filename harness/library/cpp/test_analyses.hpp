#pragma once

// What tests of the library share.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "common/ordering.hpp"
#include "common/pattern.hpp"
#include "gsofa/gsofa.h"
#include "gsofa/gsofa.hpp"
#include "reference/row_union.hpp"
#include "reference/supernodes.hpp"
#include "reference/test_patterns.hpp"

namespace gsofa::library::testing {

inline csr_view view_of(const pattern& a) { return {a.n_rows, a.row_ptr, a.col_idx}; }

inline bool same(const csr_pattern& a, const pattern& b) {
  return a.n == b.n_rows && a.row_ptr == b.row_ptr && a.col_idx == b.col_idx;
}
inline bool same(const csc_pattern& a, const pattern& b) {
  return a.n == b.n_rows && a.col_ptr == b.row_ptr && a.row_idx == b.col_idx;
}

/// Compares everything that analyze() said of `a` with the row-union oracle.
inline void check(const pattern& a, const analysis& found, const analysis_options& options) {
  REQUIRE(found.n == a.n_rows);
  validate_permutation(found.row_order, a.n_rows, "row order");
  validate_permutation(found.col_order, a.n_rows, "column order");
  pattern p = permute(a, found.row_order, found.col_order);
  REQUIRE(found.diagonal_added == count_missing_diagonal(p));
  p = with_diagonal(p);
  CHECK(found.nnz_a == p.nnz());
  const pattern filled = reference::row_union(p);
  const pattern l = reference::testing::lower(filled);
  const pattern u = reference::testing::upper(filled);
  CHECK(found.nnz_l == l.nnz());
  CHECK(found.nnz_u == u.nnz());
  for (index_t i = 0; i < a.n_rows; ++i) {
    REQUIRE(found.l_row_counts[at(i)] == static_cast<index_t>(l.row(i).size()));
    REQUIRE(found.u_row_counts[at(i)] == static_cast<index_t>(u.row(i).size()));
  }
  CHECK((options.factors ? same(found.l, l) : found.l.n == 0));
  CHECK((options.factors ? same(found.u, u) : found.u.n == 0));
  CHECK((options.factor_columns ? same(found.l_columns, transpose(l)) : found.l_columns.n == 0));
  CHECK((options.factor_columns ? same(found.u_columns, transpose(u)) : found.u_columns.n == 0));
  const auto starts = options.supernodes ? reference::t3_supernodes(filled, options.chunk_size)
                                         : std::vector<index_t>{};
  CHECK(found.supernode_starts == starts);
  CHECK(found.fallback.empty());
  CHECK(std::min({found.order_seconds, found.setup_seconds, found.analysis_seconds,
                  found.output_seconds}) >= 0);
}

/// The arrays of a pattern as other integers.
template <class Offset, class Index>
struct arrays {
  std::vector<Offset> ptr;
  std::vector<Index> idx;
  explicit arrays(const pattern& a)
      : ptr(a.row_ptr.begin(), a.row_ptr.end()), idx(a.col_idx.begin(), a.col_idx.end()) {}
};

/// What the shared library holds; the emulated build holds all variants of the testbed.
inline constexpr const char* held[] = {"cpu_bitmap_panels", "gpu_bitmap_panels"};

/// Those of them that run here: of the shared library those of the machine, of the emulated build
/// all.
inline std::vector<variant_description> runnable() {
  std::vector<variant_description> out;
  for (const auto& v : variants()) {
    if (v.unavailable.empty() && std::ranges::count(held, v.name) != 0) out.push_back(v);
  }
  return out;
}

/// The text of the invalid_input that `call` throws, or "nothing was thrown".
template <class Call>
std::string refusal(Call&& call) {
  try {
    call();
  } catch (const invalid_input& e) {
    CHECK(e.kind() == failure::invalid_input);
    return e.what();
  }
  return "nothing was thrown";
}

/// A handle of the C interface, released at the end of a test.
struct handle {
  gsofa_analysis* a = nullptr;
  handle() = default;
  handle(const handle&) = delete;
  handle& operator=(const handle&) = delete;
  ~handle() { gsofa_free(a); }
};

inline gsofa_pattern c_pattern(const pattern& a) {
  return {a.n_rows, a.row_ptr.data(), a.col_idx.data(), GSOFA_INDEX_64_32, GSOFA_CSR};
}

inline gsofa_result result_of(const gsofa_analysis* f) {
  gsofa_result r;
  REQUIRE(gsofa_get_result(f, &r) == GSOFA_OK);
  REQUIRE(r.size == sizeof r);
  return r;
}

}  // namespace gsofa::library::testing
