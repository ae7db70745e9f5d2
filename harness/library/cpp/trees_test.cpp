// Elimination trees of analyses, their levels, L + U as masks, estimates before an analysis, and
// the C interface to them.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "common/pattern.hpp"
#include "common/preprocess.hpp"
#include "common/supernodal.hpp"
#include "gsofa/gsofa.h"
#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/test_analyses.hpp"
#include "reference/row_union.hpp"
#include "reference/test_patterns.hpp"

namespace gsofa {
namespace {

using namespace library::testing;
using reference::testing::draw;
using reference::testing::five_point_grid;
using reference::testing::lower;
using reference::testing::random_pattern;
using reference::testing::upper;

// The permuted pattern with its diagonal, padded for the relaxed supernodes of `relax`.
pattern eliminated(const pattern& a, const analysis& found, std::int32_t relax) {
  const pattern p = with_diagonal(permute(a, found.row_order, found.col_order));
  if (relax == 1) return p;
  return pad_leaves(p, relaxed_leaves(elimination_tree_of_sum(p, transpose(p)), relax));
}

// Operations of L and U as the header counts them.
double operations(const pattern& l, const pattern& u) {
  const pattern columns = transpose(l);
  double flops = 0;
  for (index_t k = 0; k < l.n_rows; ++k) {
    const auto below = static_cast<double>(columns.row(k).size());
    flops += below + 2 * below * (static_cast<double>(u.row(k).size()) - 1);
  }
  return flops;
}

void check_tree(const pattern& a, const analysis& found, std::int32_t relax) {
  const pattern p = eliminated(a, found, relax);
  const pattern filled = reference::row_union(p);
  const pattern l = lower(filled);
  const pattern u = upper(filled);
  CHECK(found.nnz_l == l.nnz());
  CHECK(found.parent == elimination_tree_of_sum(p, transpose(p)));
  const pattern columns = transpose(l);
  REQUIRE(found.l_col_counts.size() == at(a.n_rows));
  for (index_t j = 0; j < a.n_rows; ++j) {
    REQUIRE(found.l_col_counts[at(j)] == static_cast<index_t>(columns.row(j).size()));
  }
  CHECK(found.flops == operations(l, u));
}

TEST_CASE("the tree, the columns and the operations of an analysis") {
  std::mt19937_64 engine(61);
  analyzer kept;
  std::size_t padded = 0;
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const pattern a = random_pattern(engine, 1 + draw(engine, 60), round % 4);
    analysis_options options{.match = round % 3 != 0 && count_missing_diagonal(a) == 0,
                             .order = round % 2 == 0 ? order_method::amd : order_method::automatic,
                             .factors = round % 5 == 0,
                             .supernodal = round % 7 == 0,
                             .relax = round % 4 == 1 ? 6 : 1};
    options.tree = true;
    const analysis found = analyze(view_of(a), options);
    check_tree(a, found, options.relax);
    padded += eliminated(a, found, options.relax).nnz() > eliminated(a, found, 1).nnz() ? 1 : 0;
    CHECK(found.supernodal.first_column.empty() == !options.supernodal);
    kept.options() = options;
    const analysis& again = kept.analyze(view_of(a));
    CHECK(again.parent == found.parent);
    CHECK(again.l_col_counts == found.l_col_counts);
    CHECK(again.flops == found.flops);
    kept.options().tree = false;
    CHECK(kept.analyze(view_of(a)).parent.empty());
    CHECK(kept.analyze(view_of(a)).flops == 0);
  }
  CHECK(padded > 5);
  analysis_options options;
  options.tree = true;
  options.device_memory = [](std::size_t) -> void* { return nullptr; };
  CHECK_THROWS_WITH_AS(analyze(view_of(five_point_grid(3)), options),
                       "device_memory: not with tree", invalid_input);
}

// Checks that every entry of L and U off the diagonal is the one bit that the header says.
void check_masks(const mask_factors& m, const pattern& l, const pattern& u) {
  const index_t n = l.n_rows;
  REQUIRE(m.first_vertex.back() == n);
  REQUIRE(m.position_begin.size() == m.first_vertex.size());
  REQUIRE(m.masks.size() == 2 * m.vertices.size());
  triplets lower{n, n, {}, {}}, upper{n, n, {}, {}};
  for (index_t p = 0; p < m.panels(); ++p) {
    const index_t b = m.first_vertex[at(p)];
    const index_t width = m.first_vertex[at(p) + 1] - b;
    REQUIRE(width >= 1);
    REQUIRE(width <= 64);
    for (auto z = at(m.position_begin[at(p)]); z < at(m.position_begin[at(p) + 1]); ++z) {
      const index_t f = m.vertices[z];
      const auto place = static_cast<index_t>(z - at(m.position_begin[at(p)]));
      if (place < width) REQUIRE(f == b + place);
      if (place > 0) REQUIRE(f > m.vertices[z - 1]);
      for (index_t c = 0; c < 64; ++c) {
        const std::uint64_t bit = std::uint64_t{1} << c;
        if ((m.masks[2 * z] & bit) != 0) {
          upper.rows.push_back(b + c);
          upper.cols.push_back(f);
        }
        if ((m.masks[2 * z + 1] & bit) != 0) {
          lower.rows.push_back(f);
          lower.cols.push_back(b + c);
        }
      }
    }
  }
  for (index_t v = 0; v < n; ++v) {
    upper.rows.push_back(v);
    upper.cols.push_back(v);
  }
  CHECK(from_triplets(lower, duplicates::reject).col_idx == l.col_idx);
  CHECK(from_triplets(upper, duplicates::reject).col_idx == u.col_idx);
}

TEST_CASE("masks hold L and U, whatever finds them and in any numbering") {
  std::mt19937_64 engine(64);
  std::vector<std::string> names{"cpu_bitmap_panels"};
  for (const auto& v : variants()) {
    if (v.name == "gpu_bitmap_panels" && v.unavailable.empty()) names.push_back(v.name);
  }
  for (int round = 0; round < 36; ++round) {
    CAPTURE(round);
    const pattern a = random_pattern(engine, 1 + draw(engine, 150), round % 5);
    for (const std::string& name : names) {
      CAPTURE(name);
      // Natural orders are no postorders: rows are found first.
      analysis_options options{.variant = name,
                               .threads = 1 + round % 2,
                               .memory_budget_mb = round % 6 == 5 ? 1 : -1,
                               .match = false,
                               .order = round % 3 == 0 ? order_method::natural : order_method::amd,
                               .factors = round % 4 == 0,
                               .supernodal = round % 2 == 0,
                               .relax = round % 3 == 1 ? 5 : 1};
      options.masks = true;
      options.tree = round % 5 == 0;
      analyzer kept(options);
      const analysis found = kept.analyze(view_of(a));
      const pattern filled = reference::row_union(eliminated(a, found, options.relax));
      check_masks(found.masks, lower(filled), upper(filled));
      CHECK(kept.analyze(view_of(a)).masks.masks == found.masks.masks);
      kept.options().masks = false;
      CHECK(kept.analyze(view_of(a)).masks.vertices.empty());
    }
  }
  analysis_options options;
  options.masks = true;
  options.device_memory = [](std::size_t) -> void* { return nullptr; };
  CHECK_THROWS_WITH_AS(analyze(view_of(five_point_grid(3)), options),
                       "device_memory: not with masks", invalid_input);
}

TEST_CASE("masks where a device does all of the analysis") {
  const pattern a = five_point_grid(16);
  analysis_options options{.order = order_method::gpu_nested_dissection};
  options.masks = true;
  bool there = false;
  for (const auto& v : variants()) {
    there = there || (v.name == "gpu_bitmap_panels" && v.unavailable.empty());
  }
  if (!there) return;
  const analysis found = analyze(view_of(a), options);
  CHECK(found.fallback.empty());
  const pattern filled = reference::row_union(eliminated(a, found, 1));
  check_masks(found.masks, lower(filled), upper(filled));
}

TEST_CASE("an estimate bounds L and U, and is exact of symmetric patterns") {
  std::mt19937_64 engine(63);
  std::size_t symmetric = 0, bounds = 0;
  for (int round = 0; round < 80; ++round) {
    CAPTURE(round);
    pattern a = random_pattern(engine, 1 + draw(engine, 60), round % 4);
    if (round % 3 == 0) a = symmetrized(a, diagonal::keep);
    analysis_options options{.match = false,
                             .order = round % 2 == 0 ? order_method::amd : order_method::automatic,
                             .factors = true,
                             .supernodal = true};
    const fill_estimate e = estimate(view_of(a), options);
    options.order = order_method::given;
    options.permutation = e.permutation;
    const analysis found = analyze(view_of(a), options);
    CHECK(e.nnz_a == found.nnz_a);
    CHECK(e.nnz_l >= found.nnz_l);
    CHECK(e.nnz_u >= found.nnz_u);
    const pattern p = with_diagonal(permute(a, found.row_order, found.col_order));
    CHECK(e.symmetric == (p.col_idx == transpose(p).col_idx && p.row_ptr == transpose(p).row_ptr));
    symmetric += e.symmetric ? 1 : 0;
    bounds += e.nnz_l > found.nnz_l ? 1 : 0;
    if (e.symmetric) {
      CHECK(e.nnz_l == found.nnz_l);
      CHECK(e.nnz_u == found.nnz_u);
      CHECK(e.flops == operations({found.n, found.n, found.l.row_ptr, found.l.col_idx},
                                  {found.n, found.n, found.u.row_ptr, found.u.col_idx}));
      const supernodal_factors& s = found.supernodal;
      const std::size_t lists = 4 * (s.first_column.size() + s.rows.size() + s.segments.size()) +
                                8 * (s.row_begin.size() + s.segment_begin.size());
      const std::size_t rows = 8 * (found.l.row_ptr.size() + found.u.row_ptr.size()) +
                               4 * (found.l.col_idx.size() + found.u.col_idx.size());
      CHECK(e.result_bytes == static_cast<std::int64_t>(16 * at(found.n) + lists + rows));
    }
    CHECK(e.working_bytes > 0);
    CHECK(e.supernodal_bytes == 8 * (e.nnz_l + e.nnz_u));
    CHECK(e.multifrontal_bytes >= e.supernodal_bytes);
    // Of columns the same.
    const pattern t = transpose(a);
    options.order = round % 2 == 0 ? order_method::amd : order_method::automatic;
    options.permutation = {};
    const fill_estimate by_columns = estimate(csc_view{t.n_rows, t.row_ptr, t.col_idx}, options);
    CHECK(by_columns.nnz_l == e.nnz_l);
    CHECK(by_columns.permutation == e.permutation);
  }
  CHECK(symmetric > 20);
  CHECK(bounds > 10);
}

TEST_CASE("an estimate fails as an analysis does") {
  const std::vector<std::int64_t> row_ptr{0, 1, 2};
  const std::vector<std::int32_t> outside{0, 2};
  CHECK_THROWS_WITH_AS(estimate({2, row_ptr, outside}),
                       "pattern: row 1: column 2 is outside [0, 2)", invalid_input);
  CHECK_THROWS_AS(estimate({2, row_ptr, outside}, {.threads = -1}), invalid_input);
  const std::vector<std::int32_t> columns{0, 1};
  const fill_estimate diagonal = estimate({2, row_ptr, columns});
  CHECK(diagonal.nnz_l == 0);
  CHECK(diagonal.nnz_u == 2);
  CHECK(diagonal.symmetric);
  analysis_options options;
  options.progress = [](const analysis_progress&) { return false; };
  try {
    estimate({2, row_ptr, columns}, options);
    FAIL("not cancelled");
  } catch (const analysis_error& e) {
    CHECK(e.kind() == failure::cancelled);
  }
}

TEST_CASE("the C interface: faults of relaxed supernodes, bytes of estimates") {
  const pattern a = five_point_grid(11);
  const index_t n = a.n_rows;
  const auto tree = elimination_tree(view_of(a));
  gsofa_options o;
  gsofa_options_init(&o);
  CHECK(o.relax == 1);
  o.order = GSOFA_ORDER_AMD;
  o.supernodal = 1;
  gsofa_analysis* f = nullptr;
  for (const std::int32_t count : {-1, 3}) {
    o.relaxed_count = count;
    CHECK(gsofa_analyze(n, a.row_ptr.data(), a.col_idx.data(), &o, &f) == GSOFA_INVALID_INPUT);
    CHECK(std::string(gsofa_last_error()).starts_with("relaxed: "));
  }
  o.relaxed_count = 0;
  gsofa_range range{};
  std::int32_t count = 0;
  CHECK(gsofa_relaxed_supernodes(n, tree.data(), 0, &range, &count) == GSOFA_INVALID_INPUT);

  const gsofa_pattern matrix{n, a.row_ptr.data(), a.col_idx.data(), GSOFA_INDEX_64_32, GSOFA_CSR};
  gsofa_fill_estimate e{};
  std::vector<std::int32_t> order(at(n));
  REQUIRE(gsofa_estimate(&matrix, &o, &e, order.data()) == GSOFA_OK);
  const fill_estimate q = estimate(view_of(a), {.order = order_method::amd, .supernodal = true});
  CHECK(e.result_bytes == q.result_bytes);
  CHECK(e.working_bytes == q.working_bytes);
  CHECK(e.supernodal_bytes == q.supernodal_bytes);
  CHECK(e.multifrontal_bytes == q.multifrontal_bytes);
  CHECK(order == q.permutation);
  CHECK(gsofa_estimate(&matrix, nullptr, &e, nullptr) == GSOFA_OK);

  // One front of 5 x 5.
  const pattern dense = generate("dense:n=5");
  CHECK(estimate(view_of(dense), {.order = order_method::natural}).multifrontal_bytes == 8 * 25);
}

}  // namespace
}  // namespace gsofa
