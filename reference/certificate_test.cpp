// labels: oracle
#include "reference/certificate.hpp"

#include <doctest/doctest.h>

#include <string>

#include "reference/gaussian_elimination.hpp"
#include "reference/row_union.hpp"
#include "reference/test_patterns.hpp"

namespace gsofa::reference {

namespace {

using namespace testing;

verdict certify(const pattern& a, const pattern& f, int threads = 1) {
  return check_certificate(a, lower(f), upper(f), threads);
}

bool begins_with(const std::string& text, const std::string& start) {
  return text.rfind(start, 0) == 0;
}

// Full diagonal; bit b of `bits` is the b-th off-diagonal position in row-major order.
pattern from_bits(index_t n, unsigned bits) {
  return from_predicate(n, [=](index_t i, index_t j) {
    return ((bits >> ((n - 1) * i + (j > i ? j - 1 : j))) & 1U) != 0;
  });
}

pattern with_entry(const pattern& a, index_t r, index_t c) {
  return from_predicate(
      a.n_rows, [&](index_t i, index_t j) { return contains(a, i, j) || (i == r && j == c); });
}

}  // namespace

TEST_CASE("certificate: accepts the closure and nothing else, every A and F of order 3") {
  for (unsigned bits = 0; bits < 64; ++bits) {
    const pattern a = from_bits(3, bits);
    const pattern closure = fill_path_closure(a);
    for (unsigned claimed = 0; claimed < 64; ++claimed) {
      const pattern f = from_bits(3, claimed);
      CAPTURE(bits);
      CAPTURE(claimed);
      REQUIRE(certify(a, f).ok == (f == closure));
    }
  }
}

TEST_CASE("certificate: every A of order 4 against its closure and all closures of supersets") {
  for (unsigned bits = 0; bits < (1U << 12); bits += 3) {
    const pattern a = from_bits(4, bits);
    const pattern closure = fill_path_closure(a);
    CAPTURE(bits);
    REQUIRE(certify(a, closure).ok);
    for (unsigned b = 0; b < 12; ++b) {
      const pattern larger = fill_path_closure(from_bits(4, bits | (1U << b)));
      REQUIRE(certify(a, larger).ok == (larger == closure));
    }
  }
}

TEST_CASE("certificate: random patterns with one entry less or closed over-fill") {
  std::mt19937_64 engine(43);
  int missing = 0, lost = 0, overfilled = 0;
  for (int trial = 0; trial < 600; ++trial) {
    const index_t n = 2 + draw(engine, 39);
    const pattern a = random_pattern(engine, n, 1 + draw(engine, 15));
    const pattern f = eliminate_boolean(a);
    CAPTURE(trial);
    REQUIRE(certify(a, f).ok);
    // F lacks any one off-diagonal entry.
    const index_t i = draw(engine, n);
    for (const index_t j : f.row(i)) {
      if (j == i) continue;
      const verdict v = certify(a, without(f, i, j));
      REQUIRE_FALSE(v.ok);
      if (contains(a, i, j)) {
        REQUIRE(begins_with(v.reason, "not contained: "));
        ++lost;
      } else {
        // (i,j) may also have been the reason of others, in row i or beyond.
        REQUIRE(begins_with(v.reason, "not closed: "));
        ++missing;
      }
    }
    // The closure of a larger matrix is closed but not justified.
    const pattern larger = row_union(with_entry(a, draw(engine, n), draw(engine, n)));
    const verdict v = certify(a, larger);
    REQUIRE(v.ok == (larger == f));
    if (!v.ok) {
      REQUIRE(begins_with(v.reason, "not justified: "));
      ++overfilled;
    }
  }
  CHECK(missing > 500);
  CHECK(lost > 500);
  CHECK(overfilled > 200);
}

TEST_CASE("certificate: an entry cannot justify itself through the diagonal") {
  const pattern identity = from_rows({{0}, {1}, {2}});
  // k = j: (1,0) and (0,0) would be the reason of (1,0).
  CHECK(certify(identity, from_rows({{0}, {0, 1}, {2}})).reason ==
        "not justified: (1,0) is in F but not in A, and no k < 0 has (1,k) and (k,0) in F");
  // k = i: (0,0) and (0,1) would be the reason of (0,1).
  CHECK(certify(identity, from_rows({{0, 1}, {1}, {2}})).reason ==
        "not justified: (0,1) is in F but not in A, and no k < 0 has (0,k) and (k,1) in F");
  // F is a closed lower triangle; A is the diagonal alone.
  CHECK_FALSE(certify(identity, from_rows({{0}, {0, 1}, {0, 1, 2}})).ok);
  // k between the two: (0,2) and (2,1) are a path over a larger vertex, which gives no fill.
  const pattern over = from_rows({{0, 2}, {1}, {1, 2}});
  CHECK(certify(over, over).ok);
  CHECK(certify(over, with_entry(over, 0, 1)).reason ==
        "not justified: (0,1) is in F but not in A, and no k < 0 has (0,k) and (k,1) in F");
}

TEST_CASE("certificate: names the concrete entries") {
  // 5 -> 3 -> 9 must give (5,9).
  std::vector<std::vector<index_t>> rows;
  for (index_t i = 0; i < 10; ++i) rows.push_back({i});
  rows[5].push_back(3);
  rows[3].push_back(9);
  const pattern a = from_rows(rows);
  CHECK(certify(a, a).reason == "not closed: (5,3) and (3,9) are in F but (5,9) is not");
  const pattern f = with_entry(a, 5, 9);
  CHECK(certify(a, f).ok);
  CHECK(certify(a, without(f, 5, 3)).reason == "not contained: (5,3) is in A but not in F");
  CHECK(certify(a, with_entry(f, 7, 8)).reason ==
        "not justified: (7,8) is in F but not in A, and no k < 7 has (7,k) and (k,8) in F");
}

TEST_CASE("certificate: the smallest faulty row is reported with any number of threads") {
  const pattern a = five_point_grid(24);
  const pattern f = row_union(a);
  pattern broken = f;
  // The last column of rows 520, 300 and 97 is fill: its loss leaves three rows not closed.
  for (const index_t i : {520, 300, 97}) {
    const index_t last = f.row(i).back();
    REQUIRE(last == i + 24);
    const index_t fill = last - 1;
    REQUIRE(contains(f, i, fill));
    REQUIRE_FALSE(contains(a, i, fill));
    broken = without(broken, i, fill);
  }
  const verdict serial = certify(a, broken, 1);
  CHECK_FALSE(serial.ok);
  CHECK(serial.reason.find("but (97,120) is not") != std::string::npos);
  for (const int threads : {0, 2, 3, 8}) {
    for (int repeat = 0; repeat < 5; ++repeat) {
      CHECK(certify(a, broken, threads).reason == serial.reason);
    }
    CHECK(certify(a, f, threads).ok);
  }
}

TEST_CASE("certificate: faults found at the same time by several threads") {
  // Rows 10,000 to 10,063 are long and have an entry of F in column 0 without a reason. The short
  // rows before them give all threads time to start.
  constexpr index_t n = 20000;
  std::vector<std::vector<index_t>> rows;
  for (index_t i = 0; i < n; ++i) {
    rows.push_back({i});
    if (i < 10000 || i >= 10064) continue;
    for (index_t j = i + 1; j < n; ++j) rows.back().push_back(j);
  }
  const pattern a = from_rows(rows);
  for (index_t i = 10000; i < 10064; ++i) rows[static_cast<std::size_t>(i)].push_back(0);
  const pattern f = from_rows(rows);
  const pattern l = lower(f);
  const pattern u = upper(f);
  for (int repeat = 0; repeat < 60; ++repeat) {
    REQUIRE(check_certificate(a, l, u, 2 + repeat % 3).reason ==
            "not justified: (10000,0) is in F but not in A, and no k < 0 has (10000,k) and (k,0) "
            "in F");
  }
}

TEST_CASE("certificate: structure") {
  const pattern a = from_rows({{0, 2}, {1}, {0, 2}});
  const pattern l = lower(a);
  const pattern u = upper(a);
  const auto reason = [&](const pattern& x, const pattern& y) {
    return check_certificate(a, x, y, 1).reason;
  };
  REQUIRE(reason(l, u) == "");
  const auto factor = [](std::vector<offset_t> ptr, std::vector<index_t> columns) {
    pattern p;
    p.n_rows = p.n_cols = 3;
    p.row_ptr = std::move(ptr);
    p.col_idx = std::move(columns);
    return p;
  };
  SUBCASE("lost diagonal") {
    CHECK(reason(l, factor({0, 2, 2, 3}, {0, 2, 2})) == "U: diagonal entry (1,1) is missing");
    CHECK(reason(l, factor({0, 1, 2, 3}, {2, 1, 2})) == "U: diagonal entry (0,0) is missing");
  }
  SUBCASE("duplicate") {
    CHECK(reason(l, factor({0, 3, 4, 5}, {0, 2, 2, 1, 2})) == "U: duplicate entry (0,2)");
    CHECK(reason(factor({0, 0, 0, 2}, {0, 0}), u) == "L: duplicate entry (2,0)");
  }
  SUBCASE("unsorted") {
    CHECK(reason(l, factor({0, 2, 3, 4}, {2, 0, 1, 2})) == "U: row 0 is not sorted: 0 after 2");
    CHECK(reason(factor({0, 0, 0, 2}, {1, 0}), u) == "L: row 2 is not sorted: 0 after 1");
  }
  SUBCASE("wrong part") {
    CHECK(reason(factor({0, 0, 0, 2}, {0, 2}), u) == "L: (2,2) is not in the strictly lower part");
    CHECK(reason(factor({0, 1, 1, 2}, {2, 0}), u) == "L: (0,2) is not in the strictly lower part");
    CHECK(reason(l, factor({0, 2, 4, 5}, {0, 2, 0, 1, 2})) == "U: (1,0) is not in the upper part");
  }
  SUBCASE("range") {
    CHECK(reason(l, factor({0, 2, 3, 4}, {0, 3, 1, 2})) == "U: column out of range: (0,3)");
    CHECK(reason(factor({0, 0, 0, 1}, {-1}), u) == "L: column out of range: (2,-1)");
  }
  SUBCASE("row pointers") {
    CHECK(reason(factor({0, 0, 1}, {0}), u) == "L: has 3 row pointers, expected 4");
    CHECK(reason(factor({1, 1, 1, 1}, {0}), u) == "L: row pointers begin with 1");
    CHECK(reason(factor({0, 2, 0, 1}, {0}), u) == "L: row pointers decrease at row 1");
    CHECK(reason(factor({0, 0, 0, 2}, {0}), u) ==
          "L: row pointers end with 2, but there are 1 entries");
  }
  SUBCASE("order") {
    CHECK(reason(lower(from_rows({{0}})), u) == "L: is 1 x 1, expected 3 x 3");
    CHECK(reason(l, upper(from_rows({{0}}))) == "U: is 1 x 1, expected 3 x 3");
  }
  SUBCASE("A itself") {
    pattern wide = a;
    wide.n_cols = 4;
    CHECK_THROWS_WITH_AS(check_certificate(wide, l, u, 1), "certificate: the matrix is not square",
                         input_error);
  }
}

TEST_CASE("certificate: orders 0 and 1, and a structurally zero diagonal of A") {
  CHECK(check_certificate(pattern{}, pattern{}, pattern{}, 2).ok);
  const pattern one = from_rows({{0}});
  CHECK(certify(one, one).ok);
  // The diagonal belongs to F even where A lacks it.
  CHECK(certify(from_rows({{}}), one).ok);
}

TEST_CASE("certificate: cost") {
  CHECK(certificate_cost(pattern{}, pattern{}) == 0);
  // Dense order 4: column k of L has 3 - k entries, each meeting 4 - k entries of U.
  const pattern dense = from_predicate(4, [](index_t, index_t) { return true; });
  CHECK(certificate_cost(lower(dense), upper(dense)) == 3 * 4 + 2 * 3 + 1 * 2);
}

}  // namespace gsofa::reference
