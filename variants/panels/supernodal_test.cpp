// labels: oracle
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>

#include "common/preprocess.hpp"
#include "common/variant.hpp"
#include "harness/check/test_patterns.hpp"
#include "reference/gaussian_elimination.hpp"

using namespace gsofa;

namespace {

// Dense and by the definitions: column lists of L, then ranges, lists and segments.
supernodal_pattern expected_of(const pattern& filled, const supernode_rule& rule) {
  const index_t n = filled.n_rows;
  std::vector<std::vector<bool>> has(at(n), std::vector<bool>(at(n)));
  for (index_t i = 0; i < n; ++i) {
    for (const index_t j : filled.row(i)) has[at(i)][at(j)] = true;
  }
  auto joins = [&](index_t j) {
    if (!has[at(j)][at(j - 1)]) return false;
    for (index_t i = j + 1; i < n; ++i) {
      if (has[at(i)][at(j - 1)] != has[at(i)][at(j)]) return false;
    }
    return true;
  };
  std::vector<index_t> of(at(n));
  supernodal_pattern out;
  out.begin.clear();
  for (index_t j = 0; j < n; ++j) {
    bool starts =
        j == 0 || !joins(j) || (rule.most_columns > 0 && j - out.begin.back() >= rule.most_columns);
    for (const column_range& r : rule.fixed) {
      if (j == r.begin || (j == r.end && r.end - r.begin > 1)) starts = true;
      if (j > r.begin && j < r.end) starts = false;
    }
    if (starts) out.begin.push_back(j);
    of[at(j)] = static_cast<index_t>(out.begin.size()) - 1;
  }
  out.begin.push_back(n);
  for (index_t s = 0; s < out.supernodes(); ++s) {
    const index_t first = out.begin[at(s)];
    for (index_t i = first; i < n; ++i) {
      if (has[at(i)][at(first)]) out.rows.push_back(i);
    }
    out.row_begin.push_back(static_cast<offset_t>(out.rows.size()));
  }
  for (index_t j = 0; j < n; ++j) {
    for (index_t s = 0; s < of[at(j)]; ++s) {
      for (index_t i = out.begin[at(s)]; i < out.begin[at(s) + 1]; ++i) {
        if (!has[at(i)][at(j)]) continue;
        out.segments.push_back(i);
        break;
      }
    }
    out.segment_begin.push_back(static_cast<offset_t>(out.segments.size()));
  }
  return out;
}

supernodal_pattern found_by(const char* variant_name, const pattern& a, const supernode_rule& rule,
                            const std::map<std::string, std::string>& options) {
  const variant_info& info = find_variant(variant_name);
  run_context context;
  const auto v = info.create();
  v->prepare(a, settings_with(info, want::pattern, options), context);
  run_timed(*v, context);
  return v->supernodal(rule);
}

std::vector<named_pattern> patterns() {
  std::vector<named_pattern> out = special_patterns();
  for (std::uint64_t k = 0; k < 400; ++k) out.push_back(random_pattern(31, k));
  return out;
}

row_counts counts_of(const pattern& filled) {
  row_counts out{std::vector<index_t>(at(filled.n_rows)), std::vector<index_t>(at(filled.n_rows))};
  for (index_t i = 0; i < filled.n_rows; ++i) {
    for (const index_t j : filled.row(i)) ++(j < i ? out.l : out.u)[at(i)];
  }
  return out;
}

pattern postordered(const pattern& a) {
  const pattern s = symmetrized(a, diagonal::drop);
  const auto order = postorder(elimination_tree(s));
  return permute(a, order, order);
}

}  // namespace

TEST_CASE("supernodes of columns, row lists and segments are those of Gaussian elimination") {
  for (const auto& [name, given] : patterns()) {
    CAPTURE(name);
    // A postorder is taken from the masks, another order from explicit rows.
    for (const pattern& a : {given, postordered(given)}) {
      const pattern filled = reference::eliminate_boolean(a);
      for (const index_t most : {0, 1, 3}) {
        CAPTURE(most);
        const supernode_rule rule{.most_columns = most, .fixed = {}};
        const supernodal_pattern expected = expected_of(filled, rule);
        CHECK(found_by("cpu_bitmap_panels", a, rule, {}) == expected);
        CHECK(found_by("cpu_bitmap_panels", a, rule, {{"panel_width", "5"}}) == expected);
        CHECK(found_by("cpu_bitmap_panels", a, rule, {{"panel_width", "1"}}) == expected);
        CHECK(found_by("cpu_bitmap_panels", a, rule, {{"memory_budget_mb", "0"}}) == expected);
        CHECK(found_by("cpu_fill2", a, rule, {}) == expected);
      }
    }
  }
}

TEST_CASE("relaxed leaves are supernodes of the padded pattern, which loses no entry") {
  std::size_t several = 0;
  for (const auto& [name, given] : patterns()) {
    CAPTURE(name);
    const pattern a = postordered(given);
    const index_t n = a.n_rows;
    const auto parent = elimination_tree(symmetrized(a, diagonal::drop));
    for (const index_t relax : {1, 2, 4, 9, 1000}) {
      CAPTURE(relax);
      const std::vector<column_range> leaves = relaxed_leaves(parent, relax);
      for (const column_range& r : leaves) {
        CHECK(r.end - r.begin <= relax);
        several += r.end - r.begin > 1;
      }
      const pattern padded = pad_leaves(a, leaves);
      const pattern columns = transpose(padded);
      for (const column_range& r : leaves) {
        if (r.end - r.begin == 1) continue;
        for (index_t j = r.begin; j < r.end; ++j) {
          CHECK(std::ranges::equal(padded.row(j), padded.row(r.begin)));
          // All hold the rows of the first one.
          CHECK(std::ranges::equal(columns.row(j), columns.row(r.begin)));
        }
      }
      for (index_t i = 0; i < n; ++i) {
        CHECK(std::ranges::includes(padded.row(i), a.row(i)));
      }
      const pattern filled = reference::eliminate_boolean(padded);
      const contraction contracted = contract_leaves(a, leaves);
      for (const index_t most : {0, 2, 5}) {
        const supernode_rule rule{.most_columns = most, .fixed = leaves};
        const supernodal_pattern expected = expected_of(filled, rule);
        CHECK(found_by("cpu_bitmap_panels", padded, rule, {}) == expected);
        CHECK(found_by("cpu_bitmap_panels", padded, rule, {{"panel_width", "3"}}) == expected);
        const supernodal_pattern small =
            found_by("cpu_bitmap_panels", contracted.a,
                     {.most_columns = most, .fixed = contracted.fixed}, {});
        CHECK(expand_leaves(small, contracted.of) == expected);
        const row_counts counts = expand_leaves(
            counts_of(reference::eliminate_boolean(contracted.a)), small, contracted.of);
        CHECK(counts.l == counts_of(filled).l);
        CHECK(counts.u == counts_of(filled).u);
      }
    }
  }
  CHECK(several > 1000);
}

TEST_CASE("faults of ranges and trees are named") {
  using ranges = std::vector<column_range>;
  const std::vector<std::uint8_t> joins(4, 0);
  for (const ranges& wrong :
       {ranges{{2, 2}}, ranges{{0, 2}, {1, 3}}, ranges{{3, 5}}, ranges{{-1, 2}}}) {
    CHECK_THROWS_AS((void)cut_supernodes(joins, {.most_columns = 0, .fixed = wrong}), input_error);
  }
  CHECK_THROWS_WITH_AS((void)relaxed_leaves(std::vector<index_t>{2, 3, 3, -1}, 2),
                       "the elimination tree is not postordered at vertex 2", input_error);
  CHECK_THROWS_AS((void)relaxed_leaves(std::vector<index_t>{-1, 0}, 2), input_error);
  CHECK_THROWS_WITH_AS((void)relaxed_leaves(std::vector<index_t>{-1}, 0),
                       "relax: 0 is not 1 or more", input_error);
  // Column 1 has row 0.
  const pattern a = from_triplets(
      {.n_rows = 3, .n_cols = 3, .rows = {0, 0, 1, 2}, .cols = {0, 1, 1, 2}}, duplicates::reject);
  CHECK_THROWS_WITH_AS((void)pad_leaves(a, ranges{{1, 3}}),
                       "entry (0, 1) of A: columns 1 to 2 are no subtree of the elimination tree",
                       input_error);
  for (const auto& [i, j] : {std::pair{0, 1}, std::pair{1, 0}}) {
    const pattern b = from_triplets(
        {.n_rows = 3, .n_cols = 3, .rows = {0, 1, 2, i}, .cols = {0, 1, 2, j}}, duplicates::reject);
    CHECK_THROWS_AS((void)contract_leaves(b, ranges{{1, 3}}), input_error);
    CHECK_THROWS_AS((void)pad_leaves(b, ranges{{1, 3}}), input_error);
  }
  // Row 1, the second of its range, has a column of another range.
  const pattern c =
      from_triplets({.n_rows = 4, .n_cols = 4, .rows = {0, 1, 2, 3, 1}, .cols = {0, 1, 2, 3, 3}},
                    duplicates::reject);
  const char* const why =
      "entry (1, 3) of A: columns 2 to 3 are no subtree of the elimination tree";
  CHECK_THROWS_WITH_AS((void)contract_leaves(c, ranges{{0, 2}, {2, 4}}), why, input_error);
  CHECK_THROWS_WITH_AS((void)pad_leaves(c, ranges{{0, 2}, {2, 4}}), why, input_error);
}
