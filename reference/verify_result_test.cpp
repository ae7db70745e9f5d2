// labels: unit
#include "reference/verify_result.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "common/digest.hpp"
#include "reference/gaussian_elimination.hpp"
#include "reference/supernodes.hpp"
#include "reference/test_patterns.hpp"
#include "reference/worked_example.hpp"

namespace gsofa::reference {

namespace {

using namespace testing;

constexpr index_t chunk = 4;

// The result that a flawless variant gives for L+U = f.
result flawless(const pattern& f, index_t chunk_size) {
  const truth t = make_truth(f);
  result r;
  r.nnz_l = t.nnz_l;
  r.nnz_u = t.nnz_u;
  r.l_row_counts = t.l_row_counts;
  r.u_row_counts = t.u_row_counts;
  r.row_digests = t.row_digests;
  r.digest = t.digest;
  r.l = t.l;
  r.u = t.u;
  r.supernode_starts = t3_supernodes(f, chunk_size);
  return r;
}

// Reasons of compare() and check_consistency() after `spoil` on the worked example.
struct reasons {
  std::string compared, consistent;
};
reasons spoiled(want_set wants, const std::function<void(result&)>& spoil) {
  const pattern f = eliminate_boolean(worked_example());
  result r = flawless(f, chunk);
  spoil(r);
  return {compare(make_truth(f), r, wants, chunk).reason,
          check_consistency(r, wants, f.n_rows, chunk).reason};
}

void erase(pattern& p, index_t i, index_t j) { p = without(p, i, j); }

std::size_t position(const pattern& p, index_t i, index_t j) {
  const auto row = p.row(i);
  return static_cast<std::size_t>(p.row_ptr[static_cast<std::size_t>(i)] +
                                  (std::ranges::find(row, j) - row.begin()));
}

}  // namespace

TEST_CASE("truth: counts, digests and parts belong together") {
  const pattern f = eliminate_boolean(worked_example());
  const truth t = make_truth(f);
  CHECK(t.l == lower(f));
  CHECK(t.u == upper(f));
  CHECK(t.digest == pattern_digest(f));
  CHECK(t.nnz_l + t.nnz_u == f.nnz());
  CHECK(t.l_row_counts[8] == 6);
  CHECK(t.u_row_counts[8] == 2);
  CHECK(t.row_digests[8] == row_digest(8, f.row(8)));
  CHECK_THROWS_WITH_AS(make_truth(from_rows({{0}, {0}})),
                       "filled pattern: the diagonal of row 1 is structurally zero", input_error);
  pattern wide = f;
  wide.n_cols = 11;
  CHECK_THROWS_WITH_AS(make_truth(wide), "filled pattern: not square", input_error);
}

TEST_CASE("a flawless result passes, whatever was wanted") {
  std::mt19937_64 engine(12);
  for (int trial = 0; trial < 100; ++trial) {
    const index_t n = trial == 0 ? 0 : 1 + draw(engine, 30);
    const pattern f = eliminate_boolean(random_pattern(engine, n, 10));
    const truth t = make_truth(f);
    for (const index_t c : {0, 1, 4, 128}) {
      const result full = flawless(f, c);
      for (unsigned bits = 0; bits < 16; ++bits) {
        want_set wants;
        result r;
        r.nnz_l = full.nnz_l;
        r.nnz_u = full.nnz_u;
        if ((bits & 1U) != 0) {
          wants |= want::counts;
          r.l_row_counts = full.l_row_counts;
          r.u_row_counts = full.u_row_counts;
        }
        if ((bits & 2U) != 0) {
          wants |= want::digest;
          r.row_digests = full.row_digests;
          r.digest = full.digest;
        }
        if ((bits & 4U) != 0) {
          wants |= want::pattern;
          r.l = full.l;
          r.u = full.u;
        }
        if ((bits & 8U) != 0) {
          wants |= want::supernodes;
          r.supernode_starts = full.supernode_starts;
        }
        REQUIRE(compare(t, r, wants, c).reason == "");
        REQUIRE(check_consistency(r, wants, n, c).reason == "");
      }
    }
  }
}

TEST_CASE("faulty patterns are named") {
  const auto wants = want_set(want::pattern);
  CHECK(spoiled(wants, [](result& r) { erase(r.l, 8, 4); }).compared ==
        "L: row 8: (8,4) is missing");
  CHECK(spoiled(wants, [](result& r) { erase(r.u, 8, 9); }).compared ==
        "U: row 8: (8,9) is missing");
  CHECK(spoiled(wants, [](result& r) { erase(r.l, 8, 4); }).consistent ==
        "nnz_l is 22, but the pattern of L has 21");
  CHECK(spoiled(wants, [](result& r) { r.l.col_idx[position(r.l, 8, 7)] = 6; }).compared ==
        "L: row 8: (8,6) is not in the fill");
  const auto lost = spoiled(wants, [](result& r) { erase(r.u, 3, 3); });
  CHECK(lost.compared == "U: diagonal entry (3,3) is missing");
  CHECK(lost.consistent == lost.compared);
  const auto twice = spoiled(wants, [](result& r) { r.l.col_idx[position(r.l, 8, 4)] = 3; });
  CHECK(twice.compared == "L: duplicate entry (8,3)");
  CHECK(twice.consistent == twice.compared);
  const auto order = spoiled(wants, [](result& r) {
    std::swap(r.l.col_idx[position(r.l, 8, 3)], r.l.col_idx[position(r.l, 8, 4)]);
  });
  CHECK(order.compared == "L: row 8 is not sorted: 3 after 4");
  CHECK(order.consistent == order.compared);
  const auto empty = spoiled(wants, [](result& r) { r.u = pattern{}; });
  CHECK(empty.compared == "U: is 0 x 0, expected 10 x 10");
  CHECK(empty.consistent == empty.compared);
}

TEST_CASE("faulty counts are named") {
  const auto wants = want_set(want::counts);
  const auto shifted = spoiled(wants, [](result& r) {
    --r.l_row_counts[8];
    ++r.l_row_counts[9];
  });
  CHECK(shifted.compared == "L count of row 8: expected 6, got 5");
  CHECK(shifted.consistent == "");
  const auto more = spoiled(wants, [](result& r) { ++r.u_row_counts[3]; });
  CHECK(more.compared == "U count of row 3: expected 2, got 3");
  CHECK(more.consistent == "nnz_u is 22, but the counts of U sum to 23");
  CHECK(spoiled(wants, [](result& r) { r.u_row_counts.pop_back(); }).compared ==
        "row counts of U: expected 10, got 9 entries");
  CHECK(spoiled(wants, [](result& r) { r.l_row_counts[2] = 3; }).consistent ==
        "L count of row 2: 3 is outside [0, 2]");
  CHECK(spoiled(wants, [](result& r) { r.u_row_counts[9] = 0; }).consistent ==
        "U count of row 9: 0 is outside [1, 1]");
  CHECK(spoiled(wants, [](result& r) { ++r.nnz_l; }).compared == "nnz_l: expected 22, got 23");
  CHECK(spoiled({}, [](result& r) { --r.nnz_u; }).compared == "nnz_u: expected 22, got 21");
  CHECK(spoiled({}, [](result& r) { r.nnz_l = -1; }).consistent == "nnz_l: -1 is outside [0, 45]");
  CHECK(spoiled({}, [](result& r) { r.nnz_u = 9; }).consistent == "nnz_u: 9 is outside [10, 55]");
  CHECK(spoiled(want_set(want::counts) | want::pattern, [](result& r) {
          --r.l_row_counts[8];
          ++r.l_row_counts[9];
        }).consistent == "L count of row 8 is 5, but its pattern has 6");
}

TEST_CASE("faulty digests are named") {
  const auto wants = want_set(want::digest);
  const auto row = spoiled(wants, [](result& r) {
    r.row_digests[5] += 1;
    r.digest += 1;
  });
  CHECK(row.compared.rfind("digest of row 5: expected ", 0) == 0);
  CHECK(row.consistent == "");
  const auto total = spoiled(wants, [](result& r) { r.digest ^= 1; });
  CHECK(total.compared.rfind("digest of L+U: expected ", 0) == 0);
  CHECK(total.consistent.rfind("digest is ", 0) == 0);
  CHECK(spoiled(wants, [](result& r) { r.row_digests.clear(); }).compared ==
        "row digests: expected 10, got 0 entries");
  const auto both = spoiled(want_set(want::digest) | want::pattern, [](result& r) {
    r.row_digests[5] += 1;
    r.digest += 1;
  });
  CHECK(both.consistent.rfind("digest of row 5 is ", 0) == 0);
}

TEST_CASE("faulty supernodes are named") {
  const auto wants = want_set(want::supernodes);
  const pattern f = eliminate_boolean(worked_example());
  REQUIRE(t3_supernodes(f, chunk) == std::vector<index_t>{0, 2, 3, 4, 5, 6, 7, 8});
  const auto split =
      spoiled(wants, [](result& r) { r.supernode_starts = {0, 1, 2, 3, 4, 5, 6, 7, 8}; });
  CHECK(split.compared == "supernodes: row 1 starts supernode 1 but belongs to the one before");
  const auto merged = spoiled(wants, [](result& r) { r.supernode_starts = {0, 2, 4, 5, 6, 7, 8}; });
  CHECK(merged.compared == "supernodes: row 3 must start supernode 2 but continues the one before");
  const auto crossing =
      spoiled(wants, [](result& r) { r.supernode_starts = {0, 2, 3, 5, 6, 7, 8}; });
  CHECK(crossing.compared == "supernodes: rows 3 to 4 cross a multiple of the chunk size 4");
  CHECK(crossing.consistent == crossing.compared);
  CHECK(spoiled(wants, [](result& r) { r.supernode_starts.clear(); }).consistent ==
        "supernodes: 0 for order 10");
  CHECK(spoiled(wants, [](result& r) { r.supernode_starts[0] = 1; }).consistent ==
        "supernodes: the first starts at row 1, not 0");
  CHECK(spoiled(wants, [](result& r) { r.supernode_starts[2] = 2; }).consistent ==
        "supernodes: start 2 after 2 is not ascending");
  CHECK(spoiled(wants, [](result& r) { r.supernode_starts.back() = 10; }).consistent ==
        "supernodes: start 10 is outside [0, 10)");
  const auto by_counts =
      spoiled(wants | want::counts, [](result& r) { r.supernode_starts = {0, 2, 4, 5, 6, 7, 8}; });
  CHECK(by_counts.consistent ==
        "supernodes: row 3 continues a supernode, but |U(3,:)| = 2 is not |U(2,:)| - 1");
  const auto by_pattern = spoiled(
      wants | want::pattern, [](result& r) { r.supernode_starts = {0, 1, 2, 3, 4, 5, 6, 7, 8}; });
  CHECK(by_pattern.consistent == split.compared);
}

TEST_CASE("what was not wanted is not looked at") {
  const pattern f = eliminate_boolean(worked_example());
  result r = flawless(f, chunk);
  r.l = r.u = pattern{};
  r.row_digests.clear();
  r.supernode_starts = {7};
  CHECK(compare(make_truth(f), r, want::counts, chunk).ok);
  CHECK(check_consistency(r, want::counts, 10, chunk).ok);
  CHECK_THROWS_AS(compare(make_truth(f), r, want::counts, -1), input_error);
}

}  // namespace gsofa::reference
