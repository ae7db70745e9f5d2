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
#include "gsofa/gsofa.h"
#include "gsofa/gsofa.hpp"
#include "reference/row_union.hpp"
#include "reference/supernodes.hpp"
#include "reference/test_patterns.hpp"
#include "reference/worked_example.hpp"

namespace gsofa {
namespace {

using reference::testing::from_predicate;
using reference::testing::lower;
using reference::testing::random_pattern;
using reference::testing::upper;

csr_view view_of(const pattern& a) { return {a.n_rows, a.row_ptr, a.col_idx}; }

bool same(const csr_pattern& a, const pattern& b) {
  return a.n == b.n_rows && a.row_ptr == b.row_ptr && a.col_idx == b.col_idx;
}

// What the shared library holds; the emulated build holds all variants of the testbed.
constexpr const char* held[] = {"cpu_bitmap_panels", "gpu_bitmap_panels", "gpu_diagonal_blocks",
                                "gpu_fill2_bitparallel"};

// Those of them that run here: of the shared library those of the machine, of the emulated build
// all.
std::vector<variant_description> runnable() {
  std::vector<variant_description> out;
  for (const auto& v : variants()) {
    if (v.unavailable.empty() && std::ranges::count(held, v.name) != 0) out.push_back(v);
  }
  return out;
}

// Compares everything that analyze() said of `a` with the row-union oracle.
void check(const pattern& a, const analysis& found, const analysis_options& options) {
  REQUIRE(found.n == a.n_rows);
  validate_permutation(found.row_order, a.n_rows, "row order");
  validate_permutation(found.col_order, a.n_rows, "column order");
  pattern p = permute(a, found.row_order, found.col_order);
  CHECK(found.diagonal_added == count_missing_diagonal(p));
  p = with_diagonal(p);
  CHECK(found.nnz_a == p.nnz());
  const pattern filled = reference::row_union(p);
  const pattern l = lower(filled);
  const pattern u = upper(filled);
  CHECK(found.nnz_l == l.nnz());
  CHECK(found.nnz_u == u.nnz());
  for (index_t i = 0; i < a.n_rows; ++i) {
    const auto k = static_cast<std::size_t>(i);
    REQUIRE(found.l_row_counts[k] == static_cast<index_t>(l.row(i).size()));
    REQUIRE(found.u_row_counts[k] == static_cast<index_t>(u.row(i).size()));
  }
  CHECK((options.factors ? same(found.l, l) : found.l.n == 0));
  CHECK((options.factors ? same(found.u, u) : found.u.n == 0));
  const auto starts = options.supernodes ? reference::t3_supernodes(filled, options.chunk_size)
                                         : std::vector<index_t>{};
  CHECK(found.supernode_starts == starts);
  CHECK(found.fallback.empty());
  CHECK(std::min({found.order_seconds, found.setup_seconds, found.analysis_seconds,
                  found.output_seconds}) >= 0);
}

void check_all(const pattern& a, analysis_options options) {
  for (const auto& v : runnable()) {
    CAPTURE(v.name);
    options.variant = v.name;
    const analysis found = analyze(view_of(a), options);
    CHECK(found.variant == v.name);
    check(a, found, options);
  }
}

// Returns the message of the invalid_input that the call throws.
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

std::string refused_pattern(std::int32_t n, const std::vector<std::int64_t>& row_ptr,
                            const std::vector<std::int32_t>& col_idx) {
  return refusal([&] { analyze({n, row_ptr, col_idx}); });
}

std::string refused_options(const analysis_options& options) {
  const pattern a = from_predicate(3, [](index_t i, index_t j) { return i == j + 1; });
  return refusal([&] { analyze(view_of(a), options); });
}

TEST_CASE("the profile of a pattern is that of its factors") {
  std::mt19937_64 engine(7);
  for (int k = 0; k < 40; ++k) {
    const pattern a = random_pattern(engine, static_cast<index_t>(1 + engine() % 40), 8);
    CAPTURE(k);
    const analysis found =
        analyze(view_of(a), {.match = false, .order = order_method::natural, .factors = true});
    const fill_profile p = profile(view_of(a), 5, 2);
    const index_t n = a.n_rows;
    CHECK(p.cells == std::min(5, n));
    CHECK(p.u_row_counts == found.u_row_counts);
    CHECK(p.parent == elimination_tree(view_of(a)));
    std::vector<std::int64_t> density(static_cast<std::size_t>(p.cells) *
                                      static_cast<std::size_t>(p.cells));
    std::vector<index_t> columns(static_cast<std::size_t>(n));
    double flops = 0;
    for (index_t i = 0; i < n; ++i) {
      for (const auto* f : {&found.l, &found.u}) {
        for (const index_t j : f->row(i)) {
          ++density[static_cast<std::size_t>(i * p.cells / n * p.cells + j * p.cells / n)];
        }
      }
      for (const index_t j : found.l.row(i)) ++columns[static_cast<std::size_t>(j)];
    }
    CHECK(p.density == density);
    CHECK(p.l_col_counts == columns);
    for (index_t j = 0; j < n; ++j) {
      const double l = columns[static_cast<std::size_t>(j)];
      flops += l + 2 * l * (found.u_row_counts[static_cast<std::size_t>(j)] - 1);
    }
    CHECK(p.flops == flops);
  }
  const std::vector<std::int64_t> row_ptr{0, 1};
  const std::vector<std::int32_t> col_idx{0};
  CHECK_THROWS_AS(profile({1, row_ptr, col_idx}, -1), invalid_input);
  CHECK_THROWS_AS(profile({1, row_ptr, col_idx}, 8193), invalid_input);
  CHECK_THROWS_AS(profile({1, row_ptr, col_idx}, 1, -1), invalid_input);
  CHECK_THROWS_AS(elimination_tree({2, row_ptr, col_idx}), invalid_input);
  CHECK(profile({1, row_ptr, col_idx}, 0).density.empty());
}

TEST_CASE("analyze() agrees with the oracle on random patterns, in every order") {
  std::mt19937_64 engine(7);
  const std::vector<order_method> orders{order_method::automatic, order_method::amd,
                                         order_method::colamd,    order_method::natural,
                                         order_method::given,     order_method::nested_dissection,
                                         order_method::best_of};
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
  CHECK(analyze(view_of(a)).order == (has_metis() ? "metis" : "amd"));
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

TEST_CASE("a batch gives what analyze() gives, each pattern once") {
  std::mt19937_64 engine(31);
  std::vector<pattern> patterns;
  for (int k = 0; k < 120; ++k) {
    patterns.push_back(random_pattern(engine, static_cast<index_t>(1 + engine() % 60), 10));
  }
  std::vector<csr_view> views;
  for (const pattern& a : patterns) views.push_back(view_of(a));
  for (const order_method order : {order_method::natural, order_method::amd}) {
    for (const int threads : {1, 3, 0}) {
      analysis_options options{.threads = threads, .match = false, .order = order, .factors = true};
      std::vector<std::atomic<int>> taken(views.size());
      std::atomic<int> wrong{0};
      analyze_batch(views, options, [&](std::size_t k, const analysis& found) {
        ++taken[k];
        analysis_options alone = options;
        alone.device = compute_device::cpu;
        alone.threads = 1;
        const analysis expected = analyze(views[k], alone);
        const bool same_factors =
            found.l.row_ptr == expected.l.row_ptr && found.l.col_idx == expected.l.col_idx &&
            found.u.row_ptr == expected.u.row_ptr && found.u.col_idx == expected.u.col_idx;
        if (!same_factors || found.col_order != expected.col_order) ++wrong;
      });
      CHECK(wrong == 0);
      for (const auto& times : taken) CHECK(times == 1);
    }
  }
  analyze_batch({}, {}, [](std::size_t, const analysis&) { FAIL("there is none"); });
}

namespace {

bool has_batch_variant() {
  return std::ranges::any_of(runnable(),
                             [](const auto& v) { return v.name == "gpu_diagonal_blocks"; });
}

// What differs between two analyses; "" if nothing does that a batch is to keep.
std::string difference(const analysis& a, const analysis& b) {
  if (a.n != b.n || a.nnz_a != b.nnz_a || a.diagonal_added != b.diagonal_added) return "pattern";
  if (a.row_order != b.row_order || a.col_order != b.col_order) return "order";
  if (a.nnz_l != b.nnz_l || a.nnz_u != b.nnz_u) return "entries";
  if (a.l_row_counts != b.l_row_counts || a.u_row_counts != b.u_row_counts) return "counts";
  if (a.supernode_starts != b.supernode_starts) return "supernodes";
  if (a.l.row_ptr != b.l.row_ptr || a.l.col_idx != b.l.col_idx) return "l";
  if (a.u.row_ptr != b.u.row_ptr || a.u.col_idx != b.u.col_idx) return "u";
  if (a.l_columns.col_ptr != b.l_columns.col_ptr || a.l_columns.row_idx != b.l_columns.row_idx) {
    return "columns of l";
  }
  return a.order == b.order ? "" : "name of the order";
}

}  // namespace

TEST_CASE("a batch that a device analyses at once gives the same") {
  if (!has_batch_variant()) return;
  std::mt19937_64 engine(77);
  std::vector<pattern> patterns;
  for (int k = 0; k < 40; ++k) {
    const auto n = static_cast<index_t>(1 + engine() % 50);
    patterns.push_back(random_pattern(engine, n, static_cast<int>(k % 4 == 0 ? 2 : 12)));
  }
  // Isolated vertices alone, and among others.
  patterns.push_back(from_predicate(5, [](index_t i, index_t j) { return i == j; }));
  patterns.push_back(from_predicate(9, [](index_t i, index_t j) { return i == j || i + j == 3; }));
  std::vector<csr_view> views;
  for (const pattern& a : patterns) views.push_back(view_of(a));
  int k = 0;
  for (const order_method order : {order_method::natural, order_method::amd}) {
    for (const std::int32_t chunk : {0, 1, 7, 64}) {
      CAPTURE(chunk);
      const bool columns = ++k % 3 == 0;
      analysis_options options{.device = compute_device::gpu,
                               .threads = k % 2 == 0 ? 1 : 3,
                               .match = false,
                               .order = order,
                               .factors = k % 2 == 0,
                               .supernodes = k % 5 != 0,
                               .chunk_size = chunk,
                               .factor_columns = columns};
      std::vector<std::string> differences(views.size(), "not taken");
      analyze_batch(views, options, [&](std::size_t at, const analysis& found) {
        analysis_options alone = options;
        alone.device = compute_device::cpu;
        alone.threads = 1;
        differences[at] = difference(found, analyze(views[at], alone));
        if (found.variant != "gpu_diagonal_blocks") differences[at] = found.variant;
        if (!found.fallback.empty()) differences[at] = found.fallback;
      });
      for (const std::string& d : differences) CHECK(d == "");
    }
  }
}

TEST_CASE(
    "faults of a batch on a device name the pattern, and a failing device leaves it to the host") {
  if (!has_batch_variant()) return;
  const pattern good = from_predicate(4, [](index_t, index_t) { return true; });
  const pattern singular{4, 4, {0, 1, 2, 3, 4}, {0, 0, 0, 0}};
  std::vector<csr_view> views(9, view_of(good));
  views[6] = view_of(singular);
  const auto message = [&](const analysis_options& options) -> std::string {
    try {
      analyze_batch(views, options, [](std::size_t, const analysis&) {});
    } catch (const invalid_input& e) {
      return e.what();
    }
    return "";
  };
  const std::string of_host = message({.device = compute_device::cpu});
  CHECK(of_host.starts_with("pattern 6: pattern: structurally singular"));
  CHECK(message({.device = compute_device::gpu}) == of_host);
  CHECK(message({.variant = "gpu_diagonal_blocks"}) == of_host);
  views[6] = view_of(good);
  const auto throwing = [&] {
    analyze_batch(views, {.device = compute_device::gpu}, [](std::size_t k, const analysis&) {
      if (k == 2) throw std::out_of_range("mine");
    });
  };
  CHECK_THROWS_WITH_AS(throwing(), "mine", std::out_of_range);
  // 200,000 rows take more than 1 MiB of the device.
  const pattern wide = from_predicate(400, [](index_t i, index_t j) { return i == j || j == 0; });
  const std::vector<csr_view> many(500, view_of(wide));
  analysis_options options{.memory_budget_mb = 1, .order = order_method::natural};
  std::atomic<int> on_host{0};
  analyze_batch(many, options, [&](std::size_t, const analysis& found) {
    if (found.fallback.starts_with("gpu_diagonal_blocks: memory budget")) ++on_host;
  });
  CHECK(on_host == 500);
  options.device = compute_device::gpu;
  CHECK_THROWS_AS(analyze_batch(many, options, [](std::size_t, const analysis&) {}),
                  analysis_error);
}

TEST_CASE("a batch ends at the first fault, and says where") {
  const pattern good = from_predicate(4, [](index_t, index_t) { return true; });
  const std::vector<std::int64_t> row_ptr{0, 1, 2};
  const std::vector<std::int32_t> col_idx{0, 7};
  std::vector<csr_view> views(20, view_of(good));
  views[13] = {2, row_ptr, col_idx};
  for (const int threads : {1, 4}) {
    std::atomic<int> taken{0};
    const auto faulty = [&] {
      analyze_batch(views, {.threads = threads}, [&](std::size_t, const analysis&) { ++taken; });
    };
    CHECK_THROWS_AS(faulty(), invalid_input);
    CHECK(taken <= 19);
    try {
      faulty();
    } catch (const invalid_input& e) {
      CHECK(std::string(e.what()).starts_with("pattern 13: "));
    }
    const auto throwing = [&] {
      analyze_batch({views.data(), 5}, {.threads = threads}, [](std::size_t k, const analysis&) {
        if (k == 2) throw std::out_of_range("mine");
      });
    };
    CHECK_THROWS_WITH_AS(throwing(), "mine", std::out_of_range);
  }
  analysis_options options;
  options.log = [](const std::string&) {};
  CHECK_THROWS_AS(analyze_batch(views, options, [](std::size_t, const analysis&) {}),
                  invalid_input);
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

// Why this build or machine has no GPU; empty if it has one.
std::string reason_without_gpu() {
  for (const auto& v : variants()) {
    if (v.name == "gpu_bitmap_panels") return v.unavailable;
  }
  return "gpu_bitmap_panels is not in this build";
}

// Disjoint cliques of so many vertices.
pattern cliques(index_t number, index_t size) {
  pattern a;
  a.n_rows = a.n_cols = number * size;
  for (index_t v = 0; v < a.n_rows; ++v) {
    for (index_t k = 0; k < size; ++k) a.col_idx.push_back(v - v % size + k);
    a.row_ptr.push_back(static_cast<offset_t>(a.col_idx.size()));
  }
  return a;
}

TEST_CASE("orders are found on a device where there is one, by themselves for large patterns") {
  const std::string no_gpu = reason_without_gpu();
  const std::string host = has_metis() ? "metis" : "amd";
  const pattern large = cliques(500, 40);
  CHECK(analyze(view_of(large)).order == (no_gpu.empty() ? "gpu_nested_dissection" : host));
  CHECK(analyze(view_of(large), {.device = compute_device::cpu}).order == host);
  CHECK(analyze(view_of(large), {.variant = "cpu_bitmap_panels"}).order == host);
  CHECK(analyze(view_of(cliques(499, 40))).order == host);
  std::mt19937_64 engine(12);
  for (const index_t n : {1, 40, 300}) {
    const pattern a = random_pattern(engine, n, 3);
    const analysis_options asked{.order = order_method::gpu_nested_dissection, .factors = true};
    if (!no_gpu.empty()) {
      try {
        analyze(view_of(a), asked);
        FAIL("nothing was thrown");
      } catch (const analysis_error& e) {
        CHECK(e.kind() == failure::unavailable);
        CHECK(std::string(e.what()) == "order gpu_nested_dissection: " + no_gpu);
      }
      continue;
    }
    const analysis found = analyze(view_of(a), asked);
    CHECK(found.order == "gpu_nested_dissection");
    CHECK(found.fallback.empty());
    const analysis again = analyze(view_of(a), {.device = compute_device::cpu,
                                                .order = order_method::given,
                                                .permutation = found.col_order,
                                                .factors = true});
    CHECK(again.l.col_idx == found.l.col_idx);
    CHECK(again.u.col_idx == found.u.col_idx);
  }
}

TEST_CASE("the device does all of the analysis of a matrix without a zero-free diagonal") {
  const std::string no_gpu = reason_without_gpu();
  std::mt19937_64 engine(13);
  for (const index_t n : {2, 30, 200}) {
    pattern a = random_pattern(engine, n, 3);
    // Rows move: the last one comes first. Vertices without an entry off the diagonal stay.
    std::vector<index_t> rows(at(n));
    std::iota(rows.begin(), rows.end(), -1);
    rows[0] = n - 1;
    a = permute(a, rows, identity_order(n));
    if (!no_gpu.empty()) continue;
    const analysis_options asked{.order = order_method::gpu_nested_dissection,
                                 .factors = true,
                                 .supernodes = n == 30,
                                 .supernodal = n == 200};
    const analysis found = analyze(view_of(a), asked);
    CHECK(found.fallback.empty());
    CHECK(found.nnz_a == a.nnz());
    CHECK(found.variant == "gpu_bitmap_panels");
    const pattern permuted = permute(a, found.row_order, found.col_order);
    CHECK(count_missing_diagonal(permuted) == 0);
    const analysis again = analyze(view_of(permuted), {.device = compute_device::cpu,
                                                       .order = order_method::natural,
                                                       .factors = true,
                                                       .supernodes = n == 30,
                                                       .supernodal = n == 200});
    CHECK(again.l.col_idx == found.l.col_idx);
    CHECK(again.u.col_idx == found.u.col_idx);
    CHECK(again.u_row_counts == found.u_row_counts);
    CHECK(again.supernode_starts == found.supernode_starts);
    CHECK(again.supernodal.rows == found.supernodal.rows);
  }
}

TEST_CASE("a structurally singular pattern is refused alike where the device does all") {
  pattern a = cliques(2, 3);
  a.col_idx.assign(a.col_idx.size(), 1);  // every row three times in column 1
  std::string said[2];
  for (const auto order : {order_method::natural, order_method::gpu_nested_dissection}) {
    if (order == order_method::gpu_nested_dissection && !reason_without_gpu().empty()) return;
    try {
      analyze(view_of(a), {.order = order});
      FAIL("nothing was thrown");
    } catch (const invalid_input& e) {
      said[order == order_method::natural ? 0 : 1] = e.what();
    }
  }
  CHECK(said[0] == said[1]);
}

TEST_CASE("patterns in device memory") {
  std::mt19937_64 engine(14);
  const pattern a = random_pattern(engine, 60, 3);
  const std::vector<std::int32_t> narrow(a.row_ptr.begin(), a.row_ptr.end());
  const std::vector<std::int64_t> wide(a.col_idx.begin(), a.col_idx.end());
  const device_csr_view view{a.n_rows, a.nnz(), a.row_ptr.data(), a.col_idx.data()};
  const device_csr_view_32 view_32{a.n_rows, a.nnz(), narrow.data(), a.col_idx.data()};
  const device_csr_view_64 view_64{a.n_rows, a.nnz(), a.row_ptr.data(), wide.data()};
  const analysis_options there{.order = order_method::gpu_nested_dissection, .factors = true};
  const std::string no_gpu = reason_without_gpu();
  try {
    // The emulator's device memory is that of the host.
    const analysis found = analyze(view, there);
    REQUIRE(no_gpu.empty());
    for (const analysis_options& o :
         {there, analysis_options{.order = order_method::amd, .factors = true},
          analysis_options{.match = false, .order = order_method::amd, .factors = true}}) {
      const analysis expected = analyze(view_of(a), o);
      for (const analysis& got : {analyze(view, o), analyze(view_32, o), analyze(view_64, o)}) {
        CHECK(got.u.col_idx == expected.u.col_idx);
        CHECK(got.l.col_idx == expected.l.col_idx);
        CHECK(got.nnz_a == expected.nnz_a);
        CHECK(got.order == expected.order);
      }
    }
    CHECK(analyze(device_csr_view{0, 0}, there).n == 0);
    CHECK_THROWS_AS(analyze(device_csr_view{-1, 0}, there), invalid_input);
  } catch (const analysis_error& e) {
    if (no_gpu.empty()) {
      CHECK(std::string(e.what()) ==
            "pattern: row_ptr is not in memory of device 0, the current one");
    } else {
      CHECK(std::string(e.what()) == "order gpu_nested_dissection: " + no_gpu);
      try {
        analyze(view, {});
        FAIL("nothing was thrown");
      } catch (const analysis_error& other) {
        CHECK(other.kind() == failure::unavailable);
        CHECK(std::string(other.what()) == "a pattern in device memory: " + no_gpu);
      }
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

// A handle that is released at the end of a test.
struct handle {
  gsofa_analysis* a = nullptr;
  handle() = default;
  handle(const handle&) = delete;
  handle& operator=(const handle&) = delete;
  ~handle() { gsofa_free(a); }
};

TEST_CASE("the C interface gives what the C++ interface gives") {
  const pattern a = reference::testing::five_point_grid(12);
  std::vector<std::int32_t> reversed(static_cast<std::size_t>(a.n_rows));
  for (std::size_t k = 0; k < reversed.size(); ++k) {
    reversed[k] = a.n_rows - 1 - static_cast<std::int32_t>(k);
  }
  gsofa_options o;
  gsofa_options_init(&o);
  o.order = GSOFA_ORDER_GIVEN;
  o.permutation = reversed.data();
  o.factors = 1;
  o.supernodes = 1;
  o.chunk_size = 10;
  handle h;
  REQUIRE(gsofa_analyze(a.n_rows, a.row_ptr.data(), a.col_idx.data(), &o, &h.a) == GSOFA_OK);
  const analysis expected = analyze(view_of(a), {.order = order_method::given,
                                                 .permutation = reversed,
                                                 .factors = true,
                                                 .supernodes = true,
                                                 .chunk_size = 10});
  const auto n = static_cast<std::size_t>(a.n_rows);
  const auto copied = [](const auto* data, std::size_t size) {
    return std::vector(data, data + size);
  };
  CHECK(gsofa_n(h.a) == a.n_rows);
  CHECK(gsofa_nnz_a(h.a) == expected.nnz_a);
  CHECK(gsofa_diagonal_added(h.a) == 0);
  CHECK(gsofa_nnz_l(h.a) == expected.nnz_l);
  CHECK(gsofa_nnz_u(h.a) == expected.nnz_u);
  CHECK(copied(gsofa_row_order(h.a), n) == expected.row_order);
  CHECK(copied(gsofa_col_order(h.a), n) == expected.col_order);
  CHECK(copied(gsofa_l_row_counts(h.a), n) == expected.l_row_counts);
  CHECK(copied(gsofa_u_row_counts(h.a), n) == expected.u_row_counts);
  const std::int64_t* row_ptr = nullptr;
  const std::int32_t* col_idx = nullptr;
  REQUIRE(gsofa_l(h.a, &row_ptr, &col_idx) == GSOFA_OK);
  CHECK(copied(row_ptr, n + 1) == expected.l.row_ptr);
  CHECK(copied(col_idx, static_cast<std::size_t>(expected.nnz_l)) == expected.l.col_idx);
  REQUIRE(gsofa_u(h.a, &row_ptr, &col_idx) == GSOFA_OK);
  CHECK(copied(row_ptr, n + 1) == expected.u.row_ptr);
  CHECK(copied(col_idx, static_cast<std::size_t>(expected.nnz_u)) == expected.u.col_idx);
  const std::int32_t* starts = nullptr;
  std::int32_t count = 0;
  REQUIRE(gsofa_supernodes(h.a, &starts, &count) == GSOFA_OK);
  CHECK(copied(starts, static_cast<std::size_t>(count)) == expected.supernode_starts);
  CHECK(gsofa_variant_name(h.a) == expected.variant);
  CHECK(gsofa_order_name(h.a) == expected.order);
  CHECK(std::string(gsofa_fallback(h.a)).empty());
  CHECK(gsofa_order_seconds(h.a) >= 0);
  CHECK(gsofa_setup_seconds(h.a) >= 0);
  CHECK(gsofa_analysis_seconds(h.a) >= 0);
  CHECK(gsofa_output_seconds(h.a) >= 0);
  CHECK(std::string(gsofa_version()) == version());
}

TEST_CASE("the C interface reports errors by status and text, and throws nothing") {
  const std::vector<std::int64_t> row_ptr{0, 1, 2};
  const std::vector<std::int32_t> outside{0, 5};
  const std::vector<std::int32_t> good{0, 1};
  handle h;
  const auto run = [&](std::int32_t n, const std::int64_t* ptr, const std::int32_t* idx,
                       const gsofa_options* o) {
    gsofa_free(h.a);
    h.a = nullptr;
    const gsofa_status status = gsofa_analyze(n, ptr, idx, o, &h.a);
    CHECK((h.a == nullptr) == (status != GSOFA_OK));
    return status;
  };
  const auto text = [] { return std::string(gsofa_last_error()); };

  CHECK(gsofa_analyze(2, row_ptr.data(), good.data(), nullptr, nullptr) == GSOFA_INVALID_INPUT);
  CHECK(text() == "out is NULL");
  CHECK(run(2, nullptr, good.data(), nullptr) == GSOFA_INVALID_INPUT);
  CHECK(text() == "row_ptr is NULL");
  CHECK(run(2, row_ptr.data(), nullptr, nullptr) == GSOFA_INVALID_INPUT);
  CHECK(text() == "col_idx is NULL");
  CHECK(run(0, nullptr, nullptr, nullptr) == GSOFA_INVALID_INPUT);
  CHECK(text() == "row_ptr is NULL");
  CHECK(run(2, row_ptr.data(), outside.data(), nullptr) == GSOFA_INVALID_INPUT);
  CHECK(text() == "pattern: row 1: column 5 is outside [0, 2)");
  const std::vector<std::int64_t> negative{0, 1, -1};
  CHECK(run(2, negative.data(), good.data(), nullptr) == GSOFA_INVALID_INPUT);
  CHECK(text() == "pattern: row_ptr decreases from 1 to -1 at row 1");
  const std::vector<std::int64_t> hump{0, 7, 2};
  CHECK(run(2, hump.data(), good.data(), nullptr) == GSOFA_INVALID_INPUT);
  CHECK(text() == "pattern: row_ptr decreases from 7 to 2 at row 1");

  gsofa_options o;
  gsofa_options_init(&o);
  gsofa_options_init(nullptr);
  o.device = 17;
  CHECK(run(2, row_ptr.data(), good.data(), &o) == GSOFA_INVALID_INPUT);
  CHECK(text() == "device: 17 is not a compute_device");
  gsofa_options_init(&o);
  o.order = -2;
  CHECK(run(2, row_ptr.data(), good.data(), &o) == GSOFA_INVALID_INPUT);
  CHECK(text() == "order: -2 is no order_method");
  gsofa_options_init(&o);
  const std::string long_name(2000, 'x');
  o.variant = long_name.c_str();
  CHECK(run(2, row_ptr.data(), good.data(), &o) == GSOFA_INVALID_INPUT);
  CHECK(text().starts_with("unknown variant 'xxx"));

  // What was not asked for.
  CHECK(run(2, row_ptr.data(), good.data(), nullptr) == GSOFA_OK);
  const std::int64_t* ptr = nullptr;
  const std::int32_t* idx = nullptr;
  std::int32_t count = 0;
  CHECK(gsofa_l(h.a, &ptr, &idx) == GSOFA_INVALID_INPUT);
  CHECK(text() == "factors were not asked for");
  CHECK(gsofa_u(h.a, nullptr, &idx) == GSOFA_INVALID_INPUT);
  CHECK(text() == "an argument is NULL");
  CHECK(gsofa_supernodes(h.a, &idx, &count) == GSOFA_INVALID_INPUT);
  CHECK(text() == "supernodes were not asked for");
  CHECK(gsofa_supernodes(nullptr, &idx, &count) == GSOFA_INVALID_INPUT);

  // No handle: zero and null.
  CHECK(gsofa_n(nullptr) == 0);
  CHECK(gsofa_nnz_l(nullptr) == 0);
  CHECK(gsofa_nnz_u(nullptr) == 0);
  CHECK(gsofa_row_order(nullptr) == nullptr);
  CHECK(gsofa_variant_name(nullptr) == nullptr);
  CHECK(gsofa_analysis_seconds(nullptr) == 0);
  gsofa_free(nullptr);

  // Each thread has a text of its own.
  CHECK(run(2, row_ptr.data(), outside.data(), nullptr) == GSOFA_INVALID_INPUT);
  std::string elsewhere = "?";
  std::jthread([&] { elsewhere = gsofa_last_error(); }).join();
  CHECK(elsewhere.empty());
  CHECK_FALSE(text().empty());
}

}  // namespace
}  // namespace gsofa
