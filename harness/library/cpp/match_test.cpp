// match(): the same matching by rows and by columns, in C++ and in C; scales; refusals.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "common/generators.hpp"
#include "common/pattern.hpp"
#include "gsofa/gsofa.h"
#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/test_analyses.hpp"

namespace gsofa {
namespace {

using library::testing::refusal;

// Rows turned by three places, and magnitudes from 1 to 8.
struct turned {
  pattern a;
  std::vector<double> values;
  explicit turned(const std::string& spec) : a(generate(spec)) {
    std::vector<index_t> rows(at(a.n_rows)), columns(at(a.n_cols));
    for (index_t i = 0; i < a.n_rows; ++i) {
      rows[at(i)] = (i + 3) % a.n_rows;
      columns[at(i)] = i;
    }
    a = permute(a, rows, columns);
    for (std::size_t p = 0; p < a.col_idx.size(); ++p) {
      values.push_back(static_cast<double>(1 + p % 8) * (p % 3 == 0 ? -1 : 1));
    }
  }
  [[nodiscard]] csr_view view() const { return {a.n_rows, a.row_ptr, a.col_idx}; }
};

}  // namespace

TEST_CASE("match: scales bound all entries, columns and C agree") {
  const turned t("random:n=90,degree=4");
  const match_result m = match(t.view(), {.values = t.values});
  CHECK(m.method == "weighted");
  REQUIRE(m.structural_rank == 90);
  for (index_t i = 0; i < 90; ++i) {
    for (auto p = at(t.a.row_ptr[at(i)]); p < at(t.a.row_ptr[at(i) + 1]); ++p) {
      const auto j = at(t.a.col_idx[p]);
      const double size = std::abs(t.values[p]) * m.row_scale[at(i)] * m.col_scale[j];
      CHECK(size <= 1 + 1e-9);
      if (m.row_of_col[j] == i) CHECK(size >= 1 - 1e-9);
    }
  }
  const pattern c = transpose(t.a);
  std::vector<double> by_column;
  for (index_t j = 0; j < 90; ++j) {
    for (const index_t i : c.row(j)) {
      const auto row = t.a.row(i);
      const auto p = std::ranges::lower_bound(row, j) - row.begin();
      by_column.push_back(t.values[at(t.a.row_ptr[at(i)] + p)]);
    }
  }
  const match_result by = match(csc_view{90, c.row_ptr, c.col_idx}, {.values = by_column});
  CHECK(by.row_of_col == m.row_of_col);
  CHECK(by.row_scale == m.row_scale);
  const gsofa_pattern p{90, t.a.row_ptr.data(), t.a.col_idx.data(), GSOFA_INDEX_64_32, GSOFA_CSR};
  std::vector<std::int32_t> rows(90);
  std::vector<double> row_scale(90), col_scale(90);
  std::int32_t rank = 0;
  REQUIRE(gsofa_match(&p, t.values.data(), nullptr, rows.data(), row_scale.data(), col_scale.data(),
                      &rank) == GSOFA_OK);
  CHECK(rows == m.row_of_col);
  CHECK(row_scale == m.row_scale);
  CHECK(col_scale == m.col_scale);
  CHECK(rank == 90);
  REQUIRE(gsofa_match(&p, nullptr, "", rows.data(), row_scale.data(), nullptr, &rank) == GSOFA_OK);
  CHECK(rows == match(t.view()).row_of_col);
  CHECK(row_scale == std::vector<double>(90, 1.0));
  CHECK(gsofa_match(&p, nullptr, "", nullptr, nullptr, nullptr, &rank) == GSOFA_INVALID_INPUT);
}

TEST_CASE("match: by pattern, rows of a symmetric pattern come back") {
  const turned t("grid5:nx=12");
  const match_result m = match(t.view());
  CHECK(m.method == "symmetric");
  CHECK(m.symmetric_entries == t.a.nnz() - t.a.n_rows);
  CHECK(m.row_scale.empty());
}

TEST_CASE("match: refusals") {
  const turned t("random:n=5,degree=2");
  CHECK(refusal([&] {
          match(t.view(), {.method = "weigthed"});
        }).find("did you mean 'weighted'?") != std::string::npos);
  CHECK(refusal([&] { match(t.view(), {.method = "weighted"}); }) ==
        "matching weighted needs the values of the matrix");
  const std::vector<std::int64_t> row_ptr{0, 2, 3};
  const std::vector<std::int32_t> twice{1, 1, 1}, once{1, 0, 1};
  CHECK(refusal([&] {
          match(csr_view{2, row_ptr, twice}, {.values = std::vector<double>{1, 2, 3}});
        }) == "values: an entry is given twice");
  CHECK(refusal([&] {
          match(csr_view{2, row_ptr, once}, {.values = std::vector<double>{1, 2}});
        }) == "values: 2 for 3 entries");
  CHECK(refusal([&] {
          match(csr_view{2, row_ptr, once}, {.values = std::vector<double>{1, 2, NAN}});
        }) == "row 2, column 2: the value is not a number");
  CHECK(refusal([&] {
          match(csr_view{2, row_ptr, once}, {.threads = -1});
        }) == "threads: -1 is negative");
}

TEST_CASE("match: unsorted rows, singular matrices, and orders 0 and 1") {
  // [ 4 1e-310 ; . 8 ], the first row from behind
  const std::vector<std::int64_t> row_ptr{0, 2, 3};
  const std::vector<std::int32_t> unsorted{1, 0, 1};
  const match_result m =
      match(csr_view{2, row_ptr, unsorted}, {.values = std::vector<double>{1e-310, 4, 8}});
  CHECK(m.row_of_col == std::vector<std::int32_t>{0, 1});
  CHECK(m.row_scale[0] * m.col_scale[0] == doctest::Approx(0.25));
  const match_result singular =
      match(csr_view{2, row_ptr, unsorted}, {.values = std::vector<double>{1e-310, 0, 8}});
  CHECK(singular.structural_rank == 1);
  CHECK(singular.unmatched_cols == std::vector<std::int32_t>{0});
  CHECK(singular.unmatched_rows.size() == 1);
  CHECK(singular.row_scale.empty());
  const std::vector<std::int64_t> ends{0, 1};
  const std::vector<std::int32_t> first{0};
  CHECK(match(csr_view{0, std::span(ends).first(1), {}}).structural_rank == 0);
  CHECK(match(csr_view{1, ends, first}, {.values = std::vector<double>{-0.5}}).row_scale[0] > 0);
  CHECK(match(csr_view{1, ends, first}, {.method = "maximum"}).structural_rank == 1);
}

}  // namespace gsofa
