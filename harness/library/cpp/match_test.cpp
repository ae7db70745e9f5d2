// match(): the same matching by rows and by columns, in C++ and in C; scales; refusals.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "common/generators.hpp"
#include "common/pattern.hpp"
#include "gsofa/gsofa.h"
#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/test_analyses.hpp"

namespace gsofa {
namespace {

using library::testing::refusal;

// The pattern with its rows turned by three places.
pattern turned(const pattern& a) {
  std::vector<index_t> rows(at(a.n_rows)), columns(at(a.n_cols));
  std::iota(columns.begin(), columns.end(), 0);
  for (const index_t i : columns) rows[at(i)] = (i + 3) % a.n_rows;
  return permute(a, rows, columns);
}

// Magnitudes from 1 to 8, a third of them negative; `lines` are the columns if `by_columns`.
std::vector<double> values_of(const pattern& lines, bool by_columns) {
  std::vector<double> values;
  for (index_t line = 0; line < lines.n_rows; ++line) {
    for (const index_t other : lines.row(line)) {
      const index_t k = by_columns ? 7 * other + 5 * line : 7 * line + 5 * other;
      values.push_back((1 + k % 8) * (k % 3 == 0 ? -1.0 : 1.0));
    }
  }
  return values;
}

}  // namespace

TEST_CASE("match: rows, columns and C agree") {
  const pattern a = turned(generate("random:n=90,degree=4")), t = transpose(a);
  const csr_view view{90, a.row_ptr, a.col_idx};
  const std::vector<double> values = values_of(a, false);
  const match_result m = match(view, {.values = values});
  CHECK(m.method == "weighted");
  const match_result by = match(csc_view{90, t.row_ptr, t.col_idx}, {.values = values_of(t, true)});
  CHECK(by.row_of_col == m.row_of_col);
  CHECK(by.row_scale == m.row_scale);
  const gsofa_pattern p{90, a.row_ptr.data(), a.col_idx.data(), GSOFA_INDEX_64_32, GSOFA_CSR};
  std::vector<std::int32_t> rows(90);
  std::vector<double> row_scale(90), col_scale(90);
  std::int32_t rank = 0;
  REQUIRE(gsofa_match(&p, values.data(), nullptr, rows.data(), row_scale.data(), col_scale.data(),
                      &rank) == GSOFA_OK);
  CHECK(rows == m.row_of_col);
  CHECK(row_scale == m.row_scale);
  CHECK(col_scale == m.col_scale);
  CHECK(rank == 90);
  REQUIRE(gsofa_match(&p, nullptr, "", rows.data(), row_scale.data(), nullptr, &rank) == GSOFA_OK);
  CHECK(rows == match(view).row_of_col);
  CHECK(row_scale == std::vector<double>(90, 1.0));
  CHECK(gsofa_match(&p, nullptr, "", nullptr, nullptr, nullptr, &rank) == GSOFA_INVALID_INPUT);
}

TEST_CASE("match: by pattern, rows of a symmetric pattern come back") {
  const pattern a = turned(generate("grid5:nx=12"));
  const match_result m = match(csr_view{a.n_rows, a.row_ptr, a.col_idx});
  CHECK(m.method == "symmetric");
  CHECK(m.symmetric_entries == a.nnz() - a.n_rows);
  CHECK(m.row_scale.empty());
}

TEST_CASE("match: unsorted rows, singular matrices, orders 0 and 1, refusals") {
  // [ 4 1e-310 ; . 8 ], the first row from behind
  const std::vector<std::int64_t> row_ptr{0, 2, 3};
  const std::vector<std::int32_t> unsorted{1, 0, 1}, twice{1, 1, 1};
  const csr_view a{2, row_ptr, unsorted};
  const auto matched = [&](std::vector<double> values, const char* method = "") {
    return match(a, {.method = method, .values = values});
  };
  const match_result m = matched({1e-310, 4, 8});
  CHECK(m.row_of_col == std::vector<std::int32_t>{0, 1});
  CHECK(m.row_scale[0] * m.col_scale[0] == doctest::Approx(0.25));
  const match_result singular = matched({1e-310, 0, 8});
  CHECK(singular.structural_rank == 1);
  CHECK(singular.unmatched_cols == std::vector<std::int32_t>{0});
  CHECK(singular.unmatched_rows.size() == 1);
  CHECK(singular.row_scale.empty());
  CHECK(match(csr_view{0, std::span(row_ptr).first(1), {}}).structural_rank == 0);
  CHECK(match(csr_view{1, std::vector<std::int64_t>{0, 1}, std::vector<std::int32_t>{0}},
              {.values = std::vector<double>{-0.5}})
            .row_scale[0] > 0);
  CHECK(refusal([&] { matched({}, "weigthed"); }).find("did you mean 'weighted'?") !=
        std::string::npos);
  CHECK(refusal([&] { matched({}, "weighted"); }) ==
        "matching weighted needs the values of the matrix");
  CHECK(refusal([&] { matched({1, 2}); }) == "values: 2 for 3 entries");
  CHECK(refusal([&] { matched({1, 2, NAN}); }) == "row 2, column 2: the value is not a number");
  CHECK(refusal([&] { match(a, {.threads = -1}); }) == "threads: -1 is negative");
  CHECK(refusal([&] {
          match(csr_view{2, row_ptr, twice}, {.values = std::vector<double>{1, 2, 3}});
        }) == "values: an entry is given twice");
}

}  // namespace gsofa
