#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "common/ordering.hpp"
#include "common/pattern.hpp"
#include "common/supernodal.hpp"
#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/test_analyses.hpp"
#include "reference/row_union.hpp"
#include "reference/test_patterns.hpp"
#include "reference/worked_example.hpp"

namespace gsofa {
namespace {

using namespace library::testing;
using reference::testing::from_predicate;
using reference::testing::lower;
using reference::testing::random_pattern;
using reference::testing::upper;

void check_all(const pattern& a, analysis_options options) {
  for (const auto& v : runnable()) {
    CAPTURE(v.name);
    options.variant = v.name;
    const analysis found = analyze(view_of(a), options);
    CHECK(found.variant == v.name);
    check(a, found, options);
  }
}

std::string refused_pattern(std::int32_t n, const std::vector<std::int64_t>& row_ptr,
                            const std::vector<std::int32_t>& col_idx) {
  return refusal([&] { analyze({n, row_ptr, col_idx}); });
}

std::string refused_options(const analysis_options& options) {
  const pattern a = from_predicate(3, [](index_t i, index_t j) { return i == j + 1; });
  return refusal([&] { analyze(view_of(a), options); });
}

TEST_CASE("a triangle with `symmetric` is its symmetric matrix, without it a warning") {
  std::mt19937_64 engine(17);
  for (int k = 0; k < 20; ++k) {
    CAPTURE(k);
    pattern whole = random_pattern(engine, static_cast<index_t>(2 + engine() % 40), 4);
    whole = with_diagonal(symmetrized(whole, diagonal::drop));
    const pattern below = with_diagonal(lower(whole)), above = upper(whole);
    analysis_options o{.factors = true};
    const analysis expected = analyze(view_of(whole), o);
    CHECK(expected.warning.empty());
    o.symmetric = stored_triangle::lower;
    const analysis found = analyze(view_of(below), o);
    check(whole, found, o);
    CHECK(found.warning.empty());
    CHECK(found.col_order == expected.col_order);
    CHECK(analyze(csc_view{above.n_rows, above.row_ptr, above.col_idx}, o).nnz_l == expected.nnz_l);
    CHECK(profile(view_of(below), 3, o).density == profile(view_of(whole), 3).density);
    CHECK(analyzer(o).update(view_of(below)).nnz_l == expected.nnz_l);
    o.symmetric = stored_triangle::upper;
    CHECK(estimate(view_of(above), o).nnz_l == expected.nnz_l);
    if (whole.nnz() == whole.n_rows) continue;
    CHECK(refusal([&] { analyze(view_of(below), o); }).starts_with("symmetric: upper, but row "));
    CHECK(analyze(view_of(above)).warning ==
          "the pattern is upper triangular; symmetric = upper analyzes the symmetric matrix with "
          "this triangle");
    o.symmetric = stored_triangle::lower;
    CHECK(refusal([&] { analyze(view_of(above), o); }).ends_with(", above the diagonal"));
  }
  CHECK(refused_options({.symmetric = static_cast<stored_triangle>(3)}) ==
        "symmetric: 3 is not a stored_triangle");
}

TEST_CASE("analyze() agrees with the oracle on random patterns, in every order") {
  std::mt19937_64 engine(7);
  const std::vector<order_method> orders{order_method::automatic,
                                         order_method::amd,
                                         order_method::amf,
                                         order_method::colamd,
                                         order_method::natural,
                                         order_method::given,
                                         order_method::cpu_nested_dissection,
                                         order_method::tournament};
  for (index_t round = 0; round < 30; ++round) {
    const index_t n = 1 + reference::testing::draw(engine, 90);
    const pattern a = random_pattern(engine, n, 1 + reference::testing::draw(engine, 12));
    std::vector<std::int32_t> given(static_cast<std::size_t>(n));
    for (std::size_t k = 0; k < given.size(); ++k) given[k] = static_cast<std::int32_t>(k);
    std::shuffle(given.begin(), given.end(), engine);
    analysis_options options;
    options.order = orders[static_cast<std::size_t>(round) % orders.size()];
    if (options.order == order_method::given) options.permutation = given;
    options.factors = round % 2 == 0;
    options.supernodes = round % 3 != 0;
    options.chunk_size = round % 4 == 0 ? 0 : 1 + round % 7;
    options.threads = 1 + round % 3;
    CAPTURE(round);
    check_all(a, options);
  }
}

#ifdef GSOFA_HAVE_BTF

TEST_CASE(
    "supernodal results hold the fill of the pattern, relaxed ones that of the padded pattern") {
  std::mt19937_64 engine(12);
  for (int k = 0; k < 60; ++k) {
    CAPTURE(k);
    const pattern a =
        with_diagonal(random_pattern(engine, static_cast<index_t>(1 + engine() % 60), 4));
    for (const auto& v : runnable()) {
      CAPTURE(v.name);
      for (const std::int32_t relax : {1, 6}) {
        for (const std::int32_t most : {0, 3}) {
          // Explicit rows are made of the padded pattern; without them leaves are shrunk.
          for (const bool factors : {false, true}) {
            CAPTURE(relax);
            CAPTURE(most);
            CAPTURE(factors);
            analysis_options o{.variant = v.name, .order = order_method::amd, .factors = factors};
            o.supernodal = true;
            o.most_columns = most;
            o.relax = relax;
            const analysis found = analyze(view_of(a), o);
            const pattern p = permute(a, found.row_order, found.col_order);
            CHECK(found.nnz_a == p.nnz());
            const auto parent = elimination_tree(view_of(p));
            const auto leaves = relaxed_leaves(parent, relax);
            const pattern filled = reference::row_union(relax > 1 ? pad_leaves(p, leaves) : p);
            const pattern l = lower(filled);
            const pattern u = upper(filled);
            const auto expected = supernodal_of(
                l, u,
                {.most_columns = most, .fixed = relax > 1 ? leaves : std::vector<column_range>{}});
            CHECK(found.supernodal.first_column == expected.begin);
            CHECK(found.supernodal.row_begin == expected.row_begin);
            CHECK(found.supernodal.rows == expected.rows);
            CHECK(found.supernodal.segment_begin == expected.segment_begin);
            CHECK(found.supernodal.segments == expected.segments);
            CHECK(found.supernodal.supernodes() == expected.supernodes());
            CHECK(found.nnz_l == l.nnz());
            CHECK(found.nnz_u == u.nnz());
            for (index_t i = 0; i < a.n_rows; ++i) {
              REQUIRE(found.l_row_counts[at(i)] == static_cast<index_t>(l.row(i).size()));
              REQUIRE(found.u_row_counts[at(i)] == static_cast<index_t>(u.row(i).size()));
            }
            if (factors) CHECK(same(found.l, l));
            const auto ranges = relaxed_supernodes(parent, relax);
            REQUIRE(ranges.size() == leaves.size());
            if (relax == 1) continue;
            // The same ranges given in the place of the rule.
            analysis_options given = o;
            given.order = order_method::given;
            given.match = false;
            given.relax = 1;
            given.relaxed = ranges;
            std::vector<std::int32_t> same_order(at(a.n_rows));
            std::iota(same_order.begin(), same_order.end(), 0);
            given.permutation = same_order;
            CHECK(analyze(view_of(p), given).supernodal.rows == expected.rows);
          }
        }
      }
    }
  }
}

TEST_CASE("zeros on the diagonal: rows are matched, or diagonal entries added") {
  std::mt19937_64 engine(11);
  for (int round = 0; round < 10; ++round) {
    // A cyclic shift of the rows moves a full diagonal away.
    const pattern a = random_pattern(engine, 40, 3);
    std::vector<index_t> shifted(40);
    for (std::size_t k = 0; k < 40; ++k) shifted[k] = static_cast<index_t>((k + 1) % 40);
    std::vector<index_t> kept(40);
    for (std::size_t k = 0; k < 40; ++k) kept[k] = static_cast<index_t>(k);
    const pattern b = permute(a, shifted, kept);
    analysis_options options{.factors = true, .supernodes = true};
    check_all(b, options);
    CHECK(analyze(view_of(b), options).diagonal_added == 0);
    options.match = false;
    check_all(b, options);
    CHECK(analyze(view_of(b), options).diagonal_added > 0);
  }
}

TEST_CASE(
    "for many factorizations a matching that makes the pattern symmetric replaces the first") {
  const pattern grid = reference::testing::five_point_grid(25);
  std::vector<index_t> rows = identity_order(grid.n_rows);
  std::mt19937_64 engine(3);
  std::ranges::shuffle(rows, engine);
  const pattern shifted = permute(grid, rows, identity_order(grid.n_rows));
  analysis_options options{.purpose = {.factorizations = 100'000}};
  check_all(shifted, options);
  const analysis found = analyze(view_of(shifted), options);
  CHECK(found.order_note.ends_with("symmetric matching"));
  CHECK(found.nnz_l < analyze(view_of(shifted), {.device = compute_device::cpu}).nnz_l);
}

TEST_CASE("a structurally singular pattern is refused with its rank") {
  CHECK(refused_pattern(3, {0, 1, 2, 4}, {0, 0, 1, 2}) ==
        "pattern: structurally singular: structural rank 2 of 3 (match = false adds the missing "
        "diagonal entries instead)");
  const std::vector<std::int64_t> row_ptr{0, 1, 2};
  const std::vector<std::int32_t> col_idx{0, 0};
  gsofa_analysis* a = nullptr;
  CHECK(gsofa_analyze(2, row_ptr.data(), col_idx.data(), nullptr, &a) == GSOFA_INVALID_INPUT);
  CHECK(a == nullptr);
  CHECK(std::string(gsofa_last_error())
            .starts_with("pattern: structurally singular: structural rank 1 of 2"));
}

#else

TEST_CASE("a build without matching refuses zeros on the diagonal, or adds entries") {
  const std::vector<std::int64_t> row_ptr{0, 1, 2};
  const std::vector<std::int32_t> col_idx{1, 0};
  try {
    analyze({2, row_ptr, col_idx});
    FAIL("nothing was thrown");
  } catch (const analysis_error& e) {
    CHECK(e.kind() == failure::unavailable);
  }
  CHECK(analyze({2, row_ptr, col_idx}, {.match = false}).nnz_a == 4);
}

#endif

TEST_CASE("a full diagonal is kept, natural and given orders are taken as they are") {
  const pattern a = reference::worked_example();
  const analysis natural = analyze(view_of(a), {.order = order_method::natural, .factors = true});
  std::vector<std::int32_t> identity(static_cast<std::size_t>(a.n_rows));
  for (std::size_t k = 0; k < identity.size(); ++k) identity[k] = static_cast<std::int32_t>(k);
  CHECK(natural.row_order == identity);
  CHECK(natural.col_order == identity);
  CHECK(natural.order == "natural");
  CHECK(natural.nnz_a == a.nnz());
  std::vector<std::int32_t> reversed(identity.rbegin(), identity.rend());
  const analysis given =
      analyze(view_of(a), {.order = order_method::given, .permutation = reversed});
  CHECK(given.row_order == reversed);
  CHECK(given.col_order == reversed);
  CHECK(given.order == "given");
  const std::string chosen = analyze(view_of(a)).order;
  CHECK((chosen.starts_with("amf") || chosen.starts_with("cpu_nested_dissection")));
}

TEST_CASE("unsorted rows and duplicates are sorted and merged") {
  std::mt19937_64 engine(3);
  const pattern a = random_pattern(engine, 50, 6);
  csr_pattern messy;
  messy.n = a.n_rows;
  for (index_t i = 0; i < a.n_rows; ++i) {
    const auto row = a.row(i);
    std::vector<std::int32_t> columns(row.begin(), row.end());
    columns.push_back(row[static_cast<std::size_t>(i) % row.size()]);
    columns.push_back(row.front());
    std::shuffle(columns.begin(), columns.end(), engine);
    messy.col_idx.insert(messy.col_idx.end(), columns.begin(), columns.end());
    messy.row_ptr.push_back(static_cast<std::int64_t>(messy.col_idx.size()));
  }
  const analysis_options options{.factors = true, .supernodes = true};
  const analysis found = analyze(messy.view(), options);
  check(a, found, options);
  CHECK(found.nnz_a == a.nnz());
}

TEST_CASE("order 1, diagonal, dense and triangular patterns") {
  const analysis_options options{.factors = true, .supernodes = true};
  const auto none = [](index_t, index_t) { return false; };
  check_all(from_predicate(1, none), options);
  check_all(from_predicate(70, none), options);
  check_all(from_predicate(70, [](index_t, index_t) { return true; }), options);
  check_all(from_predicate(70, [](index_t i, index_t j) { return j < i; }), options);
  check_all(from_predicate(70, [](index_t i, index_t j) { return j > i; }), options);
  check_all(reference::testing::five_point_grid(15), options);

  const analysis one = analyze(view_of(from_predicate(1, none)), options);
  CHECK(one.nnz_l == 0);
  CHECK(one.nnz_u == 1);
  CHECK(one.supernode_starts == std::vector<std::int32_t>{0});

  // No entry at all: only added diagonal entries.
  const std::vector<std::int64_t> row_ptr{0, 0, 0};
  const analysis empty = analyze({2, row_ptr, {}}, {.match = false, .factors = true});
  CHECK(empty.diagonal_added == 2);
  CHECK(empty.nnz_u == 2);
  CHECK(empty.u.col_idx == std::vector<std::int32_t>{0, 1});
}

TEST_CASE("a small budget changes how and where, not what") {
  // Positions of bit masks are at least as many as vertices; 1 MiB holds fewer.
  const index_t n = 50000;
  csr_pattern a;
  a.n = n;
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = std::max(0, i - 1); j <= std::min(n - 1, i + 1); ++j) a.col_idx.push_back(j);
    a.row_ptr.push_back(static_cast<std::int64_t>(a.col_idx.size()));
  }
  const auto with = [&](const std::string& variant) {
    return analyze(a.view(), {.variant = variant,
                              .memory_budget_mb = 1,
                              .order = order_method::natural,
                              .factors = true});
  };
  const analysis searched = with("cpu_bitmap_panels");
  CHECK(searched.nnz_l == n - 1);
  CHECK(searched.u.col_idx.size() == static_cast<std::size_t>(2 * n - 1));
  const analysis automatic = with("");
  CHECK(automatic.variant == "cpu_bitmap_panels");
  CHECK(automatic.l.col_idx == searched.l.col_idx);
  CHECK(automatic.u.col_idx == searched.u.col_idx);
  const auto all = variants();
  const auto gpu = std::ranges::find(all, "gpu_bitmap_panels", &variant_description::name);
  REQUIRE(gpu != all.end());
  CHECK(automatic.fallback.empty() == !gpu->unavailable.empty());
  if (!gpu->unavailable.empty()) return;
  try {
    with("gpu_bitmap_panels");
    FAIL("nothing was thrown");
  } catch (const analysis_error& e) {
    CHECK(e.kind() == failure::out_of_memory);
  }
}

TEST_CASE("several threads may analyze at the same time") {
  const pattern a = reference::testing::five_point_grid(12);
  analysis_options options{.threads = 2, .order = order_method::amd, .factors = true};
  const analysis expected = analyze(view_of(a), options);
  for (const auto& v : runnable()) {
    CAPTURE(v.name);
    options.variant = v.name;
    std::vector<analysis> found(4);
    {
      std::vector<std::jthread> threads;
      threads.reserve(found.size());
      for (auto& mine : found) {
        threads.emplace_back([&] { mine = analyze(view_of(a), options); });
      }
    }
    for (const auto& mine : found) {
      CHECK(mine.l.col_idx == expected.l.col_idx);
      CHECK(mine.u.col_idx == expected.u.col_idx);
    }
  }
}

TEST_CASE("threads find the same order, also while another draws from rand() and seeds it") {
  const pattern a = reference::testing::five_point_grid(24);
  const analysis_options options{.variant = "cpu_bitmap_panels"};
  const analysis expected = analyze(view_of(a), options);
  std::atomic<int> different{0};
  {
    const std::jthread caller([](const std::stop_token& stop) {
      for (unsigned k = 0; !stop.stop_requested(); ++k) {
        std::srand(k);
        for (int draw = 0; draw < 50; ++draw) static_cast<void>(std::rand());
      }
    });
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        for (int k = 0; k < 10; ++k) {
          const analysis mine = analyze(view_of(a), options);
          const bool equal = mine.row_order == expected.row_order && mine.nnz_l == expected.nnz_l;
          different += equal ? 0 : 1;
        }
      });
    }
    threads.clear();
  }
  CHECK(different == 0);
}

TEST_CASE("the caller's rand() goes on as if nothing had been analyzed") {
  const pattern a = reference::testing::five_point_grid(24);
  std::srand(11);
  const std::vector<int> expected{std::rand(), std::rand()};
  std::srand(11);
  std::vector<int> drawn{std::rand()};
  analyze(view_of(a));
  drawn.push_back(std::rand());
  CHECK(drawn == expected);
}

TEST_CASE("threads beyond the work there is are not started") {
  const pattern a = reference::worked_example();
  const analysis expected = analyze(view_of(a), {.factors = true, .supernodes = true});
  for (const auto& v : runnable()) {
    CAPTURE(v.name);
    const analysis found =
        analyze(view_of(a), {.variant = v.name, .threads = 100000, .factors = true});
    CHECK(found.l.col_idx == expected.l.col_idx);
    CHECK(found.u.col_idx == expected.u.col_idx);
  }
}

TEST_CASE("device and variant are chosen as asked") {
  const pattern a = reference::worked_example();
  CHECK(analyze(view_of(a), {.device = compute_device::cpu}).variant == "cpu_bitmap_panels");
  CHECK(analyze(view_of(a), {.threads = 0}).n == a.n_rows);
  std::vector<std::string> names;
  std::string no_gpu;
  for (const auto& v : variants()) {
    names.push_back(v.name);
    if (v.name == "gpu_bitmap_panels") no_gpu = v.unavailable;
  }
  for (const char* name : held) CHECK(std::ranges::count(names, name) == 1);
  // Its results are of another order.
  CHECK(std::ranges::count(names, "gpu_full_analysis") == 0);
  CHECK_THROWS_AS(analyze(view_of(a), {.variant = "gpu_full_analysis"}), invalid_input);
  const analysis automatic = analyze(view_of(a));
  CHECK(automatic.variant == (no_gpu.empty() ? "gpu_bitmap_panels" : "cpu_bitmap_panels"));
  CHECK(automatic.fallback.empty());
  const analysis_options gpu{.device = compute_device::gpu};
  const analysis_options named{.variant = "gpu_bitmap_panels"};
  if (no_gpu.empty()) {
    CHECK(analyze(view_of(a), gpu).variant == "gpu_bitmap_panels");
    return;
  }
  for (const auto& options : {gpu, named}) {
    try {
      analyze(view_of(a), options);
      FAIL("nothing was thrown");
    } catch (const analysis_error& e) {
      CHECK(e.kind() == failure::unavailable);
      CHECK(std::string(e.what()) == "gpu_bitmap_panels: " + no_gpu);
    }
  }
}

TEST_CASE("a faulty pattern is refused with one line that says where") {
  CHECK(refused_pattern(-3, {}, {}) == "pattern: order -3 is negative");
  CHECK(refused_pattern(0, {}, {}) == "pattern: row_ptr has 0 entries; order 0 needs 1");
  CHECK(refused_pattern(3, {0, 1, 2}, {0, 1}) == "pattern: row_ptr has 3 entries; order 3 needs 4");
  CHECK(refused_pattern(std::numeric_limits<std::int32_t>::max(), {0, 1}, {0}) ==
        "pattern: row_ptr has 2 entries; order 2147483647 needs 2147483648");
  CHECK(refused_pattern(2, {1, 1, 2}, {0, 1}) == "pattern: row_ptr begins with 1, not 0");
  CHECK(refused_pattern(2, {0, 2, 1}, {0}) == "pattern: row_ptr decreases from 2 to 1 at row 1");
  CHECK(refused_pattern(2, {0, 1, 3}, {0, 1}) ==
        "pattern: row_ptr ends with 3; col_idx has 2 entries");
  CHECK(refused_pattern(2, {0, 1, 2}, {0, 2}) == "pattern: row 1: column 2 is outside [0, 2)");
  CHECK(refused_pattern(2, {0, 1, 2}, {-1, 1}) == "pattern: row 0: column -1 is outside [0, 2)");
}

TEST_CASE("faulty options are refused by name") {
  const std::vector<std::int32_t> twice{0, 1, 1};
  const std::vector<std::int32_t> two{0, 1};
  const std::vector<std::int32_t> good{2, 1, 0};
  CHECK(refused_options({.threads = -1}) == "threads: -1 is not 0 or more");
  CHECK(refused_options({.chunk_size = -4}) == "chunk_size: -4 is not 0 or more");
  CHECK(refused_options({.memory_budget_mb = -2}) == "memory_budget_mb: -2 is not -1 or more");
  CHECK(refused_options({.memory_budget_mb = 0}) == "nothing was thrown");
  CHECK(refused_options({.order = order_method::given}) == "permutation: 0 entries for order 3");
  CHECK(refused_options({.order = order_method::given, .permutation = two}) ==
        "permutation: 2 entries for order 3");
  CHECK(refused_options({.order = order_method::given, .permutation = twice}) ==
        "permutation: 1 occurs twice");
  CHECK(refused_options({.order = order_method::amd, .permutation = good}) ==
        "permutation: set, but the order is amd, not given");
  CHECK(refused_options({.variant = "gpu_panels"})
            .starts_with("unknown variant 'gpu_panels': one of "));
  CHECK(refused_options({.device = compute_device::gpu, .variant = "cpu_bitmap_panels"}) ==
        "variant cpu_bitmap_panels does not run on device gpu");
  CHECK(refused_options({.relax = 0}) == "relax: 0 is not 1 or more");
  CHECK(refused_options({.most_columns = -1}) == "most_columns: -1 is not 0 or more");
  const std::vector<supernode_range> outside{{0, 4}};
  CHECK(refused_options({.match = false, .order = order_method::natural, .relaxed = outside}) ==
        "columns 0 to 4: ranges must be ascending, disjoint and within [0, 3)");
  constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min();
  constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
  using ranges_of_columns = std::vector<supernode_range>;
  const std::vector<ranges_of_columns> faulty{
      {{0, 0}},         {{2, 1}},        {{-2, -1}},      {{3, 4}},       {{1, 2}, {0, 1}},
      {{0, 2}, {1, 3}}, {{least, most}}, {{most, least}}, {{most, most}}, {{0, least}}};
  for (const ranges_of_columns& ranges : faulty) {
    analysis_options o{
        .match = false, .order = order_method::natural, .relaxed = ranges, .masks = true};
    CHECK(refused_options(o).ends_with("ranges must be ascending, disjoint and within [0, 3)"));
    o.masks = false;
    CHECK(refused_options(o).ends_with("ranges must be ascending, disjoint and within [0, 3)"));
  }
  CHECK(refused_options({.relax = 2, .relaxed = outside}) ==
        "relax and relaxed: only one of them may be set");
  CHECK(refusal([] {
          (void)relaxed_supernodes(std::vector<std::int32_t>{-1, 0}, 2);
        }) == "the elimination tree is not postordered: the parent of 1 is 0");
}

}  // namespace
}  // namespace gsofa
