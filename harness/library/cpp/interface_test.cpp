// What analyze() takes and gives in other forms: isolated vertices, other integers, columns,
// callbacks, the C interface to all of it.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/file.hpp"
#include "common/pattern.hpp"
#include "common/preprocess.hpp"
#include "common/test_files.hpp"
#include "gsofa/gsofa.h"
#include "gsofa/gsofa.hpp"
#include "reference/row_union.hpp"
#include "reference/supernodes.hpp"
#include "reference/test_patterns.hpp"

namespace gsofa {
namespace {

using reference::testing::draw;
using reference::testing::lower;
using reference::testing::random_pattern;
using reference::testing::upper;

csr_view view_of(const pattern& a) { return {a.n_rows, a.row_ptr, a.col_idx}; }

bool same(const csr_pattern& a, const pattern& b) {
  return a.n == b.n_rows && a.row_ptr == b.row_ptr && a.col_idx == b.col_idx;
}
bool same(const csc_pattern& a, const pattern& b) {
  return a.n == b.n_rows && a.col_ptr == b.row_ptr && a.row_idx == b.col_idx;
}

std::vector<order_method> all_methods() {
  std::vector<order_method> all{order_method::automatic, order_method::amd,
                                order_method::colamd,    order_method::natural,
                                order_method::given,     order_method::nested_dissection,
                                order_method::best_of};
  if (has_metis()) all.push_back(order_method::metis);
  return all;
}

// `a` with a full diagonal and `isolated` more vertices at random places, of which every
// `without`-th has no entry at all (0: none).
pattern with_isolated(const pattern& a, index_t isolated, index_t without,
                      std::mt19937_64& engine) {
  const index_t n = a.n_rows + isolated;
  std::vector<index_t> position(at(n));
  for (index_t k = 0; k < n; ++k) position[at(k)] = k;
  std::ranges::shuffle(position, engine);
  triplets entries{n, n, {}, {}};
  for (index_t i = 0; i < a.n_rows; ++i) {
    for (const index_t j : a.row(i)) {
      entries.rows.push_back(position[at(i)]);
      entries.cols.push_back(position[at(j)]);
    }
  }
  for (index_t k = 0; k < isolated; ++k) {
    if (without != 0 && k % without == 0) continue;
    entries.rows.push_back(position[at(a.n_rows + k)]);
    entries.cols.push_back(position[at(a.n_rows + k)]);
  }
  return from_triplets(entries, duplicates::merge);
}

void check(const pattern& a, const analysis& found, const analysis_options& options) {
  REQUIRE(found.n == a.n_rows);
  validate_permutation(found.row_order, a.n_rows, "row order");
  validate_permutation(found.col_order, a.n_rows, "column order");
  pattern p = permute(a, found.row_order, found.col_order);
  REQUIRE(found.diagonal_added == count_missing_diagonal(p));
  p = with_diagonal(p);
  CHECK(found.nnz_a == p.nnz());
  const pattern filled = reference::row_union(p);
  const pattern l = lower(filled);
  const pattern u = upper(filled);
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
  CHECK(found.supernode_starts == (options.supernodes
                                       ? reference::t3_supernodes(filled, options.chunk_size)
                                       : std::vector<index_t>{}));
}

std::vector<std::int32_t> shuffled(index_t n, std::mt19937_64& engine) {
  std::vector<std::int32_t> order(at(n));
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<std::int32_t>(k);
  std::ranges::shuffle(order, engine);
  return order;
}

TEST_CASE("isolated vertices among others, in every order") {
  std::mt19937_64 engine(21);
  int round = 0;
  for (const order_method order : all_methods()) {
    for (const index_t isolated : {1, 7, 60, 200}) {
      const bool match = round % 3 != 0;
      pattern core = random_pattern(engine, 1 + draw(engine, 60), 5);
      const pattern a = with_isolated(core, isolated, match ? 0 : 3, engine);
      const auto given = shuffled(a.n_rows, engine);
      analysis_options options{.threads = 1 + round % 2, .match = match, .order = order};
      if (order == order_method::given) options.permutation = given;
      options.factors = round % 2 == 0;
      options.factor_columns = round % 5 == 0;
      options.supernodes = round % 4 != 0;
      options.chunk_size = round % 8 < 4 ? 0 : 5;
      CAPTURE(round);
      const analysis found = analyze(view_of(a), options);
      check(a, found, options);
      if (order == order_method::natural) {
        CHECK(std::ranges::is_sorted(found.row_order));
      }
      if (order == order_method::given) CHECK(found.col_order == given);
      ++round;
    }
  }
}

TEST_CASE("nothing but isolated vertices, with and without entries") {
  std::mt19937_64 engine(22);
  const pattern none{0, 0, {0}, {}};
  for (const order_method order : all_methods()) {
    for (const index_t n : {1, 2, 64, 130}) {
      const auto given = shuffled(n, engine);
      analysis_options options{.order = order, .factors = true, .supernodes = true};
      if (order == order_method::given) options.permutation = given;
      options.factor_columns = true;
      const pattern diagonal = with_isolated(none, n, 0, engine);
      check(diagonal, analyze(view_of(diagonal), options), options);
      options.match = false;
      const pattern holes = with_isolated(none, n, 2, engine);
      check(holes, analyze(view_of(holes), options), options);
      options.supernodes = false;
      check(holes, analyze(view_of(holes), options), options);
    }
  }
}

#ifdef GSOFA_HAVE_BTF

TEST_CASE("matching beside isolated vertices; their zeros make the pattern singular") {
  std::mt19937_64 engine(23);
  for (int round = 0; round < 12; ++round) {
    const pattern full = random_pattern(engine, 30, 3);
    std::vector<index_t> shifted(30);
    for (std::size_t k = 0; k < 30; ++k) shifted[k] = static_cast<index_t>((k + 1) % 30);
    const pattern core = permute(full, shifted, std::vector<index_t>([] {
                                   std::vector<index_t> same(30);
                                   for (std::size_t k = 0; k < 30; ++k) {
                                     same[k] = static_cast<index_t>(k);
                                   }
                                   return same;
                                 }()));
    const pattern a = with_isolated(core, 9, 0, engine);
    const auto given = shuffled(a.n_rows, engine);
    const auto methods = all_methods();
    analysis_options options{.order = methods[at(round) % methods.size()],
                             .factors = true,
                             .supernodes = round % 2 == 0};
    if (options.order == order_method::given) options.permutation = given;
    CAPTURE(round);
    const analysis found = analyze(view_of(a), options);
    CHECK(found.diagonal_added == 0);
    check(a, found, options);

    const pattern holes = with_isolated(core, 9, 4, engine);  // 3 of the 9
    const auto text = [&](const analysis_options& o) -> std::string {
      try {
        analyze(view_of(holes), o);
      } catch (const invalid_input& e) {
        return e.what();
      }
      return "";
    };
    CHECK(text({}).starts_with("pattern: structurally singular: structural rank 36 of 39 "));
    CHECK(text({.order = order_method::natural, .supernodes = true, .chunk_size = 2})
              .starts_with("pattern: structurally singular: structural rank 36 of 39 "));
  }
}

#endif

// The arrays of `a` as other integers.
template <class Offset, class Index>
struct arrays {
  std::vector<Offset> ptr;
  std::vector<Index> idx;
  explicit arrays(const pattern& a)
      : ptr(a.row_ptr.begin(), a.row_ptr.end()), idx(a.col_idx.begin(), a.col_idx.end()) {}
};

bool equal(const analysis& a, const analysis& b) {
  return a.n == b.n && a.row_order == b.row_order && a.col_order == b.col_order &&
         a.nnz_a == b.nnz_a && a.diagonal_added == b.diagonal_added && a.nnz_l == b.nnz_l &&
         a.nnz_u == b.nnz_u && a.l_row_counts == b.l_row_counts &&
         a.u_row_counts == b.u_row_counts && a.l.row_ptr == b.l.row_ptr &&
         a.l.col_idx == b.l.col_idx && a.u.row_ptr == b.u.row_ptr && a.u.col_idx == b.u.col_idx &&
         a.l_columns.col_ptr == b.l_columns.col_ptr && a.l_columns.row_idx == b.l_columns.row_idx &&
         a.u_columns.col_ptr == b.u_columns.col_ptr && a.u_columns.row_idx == b.u_columns.row_idx &&
         a.supernode_starts == b.supernode_starts && a.variant == b.variant && a.order == b.order;
}

TEST_CASE("other integers and compressed columns give what rows give") {
  std::mt19937_64 engine(24);
  int round = 0;
  for (const order_method order : all_methods()) {
    for (int k = 0; k < 6; ++k, ++round) {
      CAPTURE(round);
      const pattern a = with_isolated(random_pattern(engine, 1 + draw(engine, 50), 4),
                                      draw(engine, 9), 0, engine);
      const pattern t = transpose(a);
      const auto given = shuffled(a.n_rows, engine);
      analysis_options options{.match = k % 2 == 0, .order = order};
      if (order == order_method::given) options.permutation = given;
      options.factors = k % 3 == 0;
      options.factor_columns = k != 1;
      options.supernodes = k == 4;
      const analysis expected = analyze(view_of(a), options);
      check(a, expected, options);
      const arrays<std::int32_t, std::int32_t> short_rows(a), short_columns(t);
      const arrays<std::int64_t, std::int64_t> long_rows(a), long_columns(t);
      CHECK(
          equal(expected, analyze(csr_view_32{a.n_rows, short_rows.ptr, short_rows.idx}, options)));
      CHECK(equal(expected, analyze(csr_view_64{a.n_rows, long_rows.ptr, long_rows.idx}, options)));
      CHECK(equal(expected, analyze(csc_view{a.n_rows, t.row_ptr, t.col_idx}, options)));
      CHECK(equal(expected,
                  analyze(csc_view_32{a.n_rows, short_columns.ptr, short_columns.idx}, options)));
      CHECK(equal(expected,
                  analyze(csc_view_64{a.n_rows, long_columns.ptr, long_columns.idx}, options)));
      CHECK(elimination_tree(csc_view{a.n_rows, t.row_ptr, t.col_idx}) ==
            elimination_tree(view_of(a)));
      const fill_profile p = profile(csc_view_64{a.n_rows, long_columns.ptr, long_columns.idx}, 4);
      const fill_profile q = profile(view_of(a), 4);
      CHECK(p.l_col_counts == q.l_col_counts);
      CHECK(p.density == q.density);
    }
  }
}

#ifdef GSOFA_HAVE_BTF

TEST_CASE("compressed columns with zeros on the diagonal are matched by rows") {
  std::mt19937_64 engine(25);
  const pattern a = random_pattern(engine, 40, 3);
  std::vector<index_t> shifted(40), kept(40);
  for (std::size_t k = 0; k < 40; ++k) {
    shifted[k] = static_cast<index_t>((k + 1) % 40);
    kept[k] = static_cast<index_t>(k);
  }
  const pattern b = permute(a, shifted, kept);
  const pattern t = transpose(b);
  for (const bool match : {true, false}) {
    analysis_options options{.match = match};
    options.factor_columns = true;
    const analysis expected = analyze(view_of(b), options);
    CHECK(equal(expected, analyze(csc_view{40, t.row_ptr, t.col_idx}, options)));
    check(b, expected, options);
  }
}

#endif

TEST_CASE("faults of other forms are named as they are given") {
  const auto text = [](const auto& view) -> std::string {
    try {
      analyze(view);
    } catch (const analysis_error& e) {
      return std::to_string(static_cast<int>(e.kind())) + " " + e.what();
    }
    return "";
  };
  const std::vector<std::int32_t> short_ptr{0, 1, 0}, none;
  const std::vector<std::int64_t> long_ptr{0, 1, 2}, outside{0, 5'000'000'000};
  const std::vector<std::int32_t> beyond{0, 2};
  CHECK(text(csr_view_32{2, short_ptr, none}) ==
        "1 pattern: row_ptr decreases from 1 to 0 at row 1");
  CHECK(text(csc_view_32{2, short_ptr, none}) ==
        "1 pattern: col_ptr decreases from 1 to 0 at column 1");
  CHECK(text(csc_view{2, long_ptr, beyond}) == "1 pattern: column 1: row 2 is outside [0, 2)");
  CHECK(text(csr_view_64{2, long_ptr, outside}) ==
        "1 pattern: row 1: column 5000000000 is outside [0, 2)");
  CHECK(text(csr_view_64{3'000'000'000, {}, {}}) ==
        "5 pattern: order: 3000000000 does not fit in 32 bits");
}

TEST_CASE("factors in other integers: the same arrays, copies, or an overflow") {
  csr_pattern p{2, {0, 1, 3}, {0, 0, 1}};
  const auto* const columns = p.col_idx.data();
  const auto* const pointers = p.row_ptr.data();
  const auto kept = convert<std::int64_t, std::int32_t>(std::move(p));
  CHECK(kept.col_idx.data() == columns);
  CHECK(kept.row_ptr.data() == pointers);
  const auto long_ones = convert<std::int64_t, std::int64_t>({2, {0, 1, 3}, {0, 0, 1}});
  CHECK(long_ones.col_idx == std::vector<std::int64_t>{0, 0, 1});
  const auto short_ones = convert<std::int32_t, std::int32_t>({2, {0, 1, 3}, {0, 0, 1}});
  CHECK(short_ones.row_ptr == std::vector<std::int32_t>{0, 1, 3});
  try {
    convert<std::int32_t, std::int32_t>({1, {0, std::int64_t{1} << 31}, {}});
    FAIL("nothing was thrown");
  } catch (const analysis_error& e) {
    CHECK(e.kind() == failure::overflow);
    CHECK(std::string(e.what()) == "row pointer of a factor: 2147483648 does not fit in 32 bits");
  }
}

TEST_CASE("progress comes on the calling thread, in the order of the stages") {
  const pattern a = reference::testing::five_point_grid(60);
  const auto caller = std::this_thread::get_id();
  std::vector<analysis_progress> seen;
  std::vector<std::string> lines;
  bool elsewhere = false;
  analysis_options options{.order = order_method::amd, .factors = true};
  const analysis expected = analyze(view_of(a), options);
  options.progress_seconds = 1e-6;
  options.progress = [&](const analysis_progress& p) {
    elsewhere = elsewhere || std::this_thread::get_id() != caller;
    seen.push_back(p);
    return true;
  };
  options.log = [&](const std::string& line) {
    elsewhere = elsewhere || std::this_thread::get_id() != caller;
    lines.push_back(line);
  };
  CHECK(equal(expected, analyze(view_of(a), options)));
  CHECK_FALSE(elsewhere);
  REQUIRE_FALSE(seen.empty());
  CHECK(seen.front().stage == analysis_stage::check);
  CHECK(std::ranges::is_sorted(seen, {}, &analysis_progress::stage));
  for (const analysis_progress& p : seen) CHECK((p.share == -1 || (p.share >= 0 && p.share <= 1)));
  CHECK_FALSE(lines.empty());
  options.progress = nullptr;
  std::vector<std::string> queued = std::exchange(lines, {});
  CHECK(equal(expected, analyze(view_of(a), options)));
  CHECK(lines.size() == queued.size());
  options.progress = [](const analysis_progress&) { return true; };
  options.progress_seconds = 0;
  CHECK_THROWS_AS(analyze(view_of(a), options), invalid_input);
}

failure kind_of(const pattern& a, const analysis_options& options) {
  try {
    analyze(view_of(a), options);
  } catch (const analysis_error& e) {
    return e.kind();
  }
  return {};
}

TEST_CASE("a cancelled analysis ends in whatever stage it is") {
  const pattern a = reference::testing::five_point_grid(300);
  analysis_options options{.variant = "cpu_bitmap_panels"};
  options.progress_seconds = 1e-4;
  options.progress = [](const analysis_progress&) { return false; };
  CHECK(kind_of(a, options) == failure::cancelled);
  for (const order_method order : {order_method::automatic, order_method::natural}) {
    options.order = order;
    const auto awaited =
        order == order_method::natural ? analysis_stage::analyze : analysis_stage::order;
    analysis_stage last = analysis_stage::check;
    options.progress = [&](const analysis_progress& p) {
      last = p.stage;
      return p.stage < awaited;
    };
    CHECK(kind_of(a, options) == failure::cancelled);
    CHECK(last == awaited);
  }
  // Once cancelled, the next analysis is whole.
  options.progress = nullptr;
  CHECK(analyze(view_of(a), options).n == a.n_rows);
}

TEST_CASE("a profile is cancelled in every stage, and is complete where it is not") {
  const pattern a = reference::testing::five_point_grid(60);
  const fill_profile expected = profile(view_of(a), 5);
  analysis_options options{.threads = 2};
  int looks = 0;
  options.progress = [&](const analysis_progress&) { return ++looks > 0; };
  const fill_profile found = profile(view_of(a), 5, options);
  CHECK(found.density == expected.density);
  CHECK(found.l_col_counts == expected.l_col_counts);
  CHECK(looks > 0);
  options.progress_seconds = 1e-4;
  for (const auto last : {analysis_stage::check, analysis_stage::analyze}) {
    options.progress = [&](const analysis_progress& p) { return p.stage < last; };
    try {
      (void)profile(view_of(reference::testing::five_point_grid(200)), 5, options);
      FAIL("nothing was thrown");
    } catch (const analysis_error& e) {
      CHECK(e.kind() == failure::cancelled);
    }
  }
  options.progress_seconds = 0;
  CHECK_THROWS_AS(profile(view_of(a), 5, options), invalid_input);
  CHECK_THROWS_AS(profile(view_of(a), 5, {.threads = -1}), invalid_input);
}

TEST_CASE("what a callback throws passes through") {
  const pattern a = reference::testing::five_point_grid(100);
  struct mine : std::exception {};
  analysis_options options;
  options.log = [](const std::string&) { throw mine(); };
  CHECK_THROWS_AS(analyze(view_of(a), options), mine);
  options.progress = [](const analysis_progress&) { return true; };
  CHECK_THROWS_AS(analyze(view_of(a), options), mine);
  options.log = nullptr;
  int calls = 0;
  options.progress_seconds = 1e-5;
  options.progress = [&](const analysis_progress&) -> bool {
    if (++calls == 2) throw mine();
    return true;
  };
  CHECK_THROWS_AS(analyze(view_of(a), options), mine);
}

TEST_CASE("an analyzer gives what analyze() gives, pattern after pattern") {
  std::mt19937_64 engine(26);
  analyzer kept;
  const auto methods = all_methods();
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const pattern a =
        with_isolated(random_pattern(engine, 1 + draw(engine, 70), 4), draw(engine, 20), 3, engine);
    const auto given = shuffled(a.n_rows, engine);
    analysis_options options{.threads = 1 + round % 2,
                             .match = false,
                             .order = methods[at(round) % methods.size()],
                             .factors = round % 2 == 0,
                             .supernodes = round % 3 == 0};
    if (options.order == order_method::given) options.permutation = given;
    options.factor_columns = round % 5 == 0;
    kept.options() = options;
    const analysis& found = kept.analyze(view_of(a));
    check(a, found, options);
    CHECK(equal(found, analyze(view_of(a), options)));
    if (round % 7 == 0) {
      const std::vector<std::int64_t> row_ptr{0, 1};
      const std::vector<std::int32_t> outside{3};
      kept.options().permutation = {};
      kept.options().order = order_method::natural;
      CHECK_THROWS_AS(kept.analyze({1, row_ptr, outside}), invalid_input);
    }
  }
  analyzer moved = std::move(kept);
  moved.options() = {};
  const pattern a = reference::testing::five_point_grid(5);
  CHECK(equal(moved.analyze(view_of(a)), analyze(view_of(a))));
}

struct handle {
  gsofa_analysis* a = nullptr;
  handle() = default;
  handle(const handle&) = delete;
  handle& operator=(const handle&) = delete;
  ~handle() { gsofa_free(a); }
};

TEST_CASE("the C interface: integers, columns, copies, profile, tree, variants") {
  std::mt19937_64 engine(27);
  const pattern a = random_pattern(engine, 60, 4);
  const pattern t = transpose(a);
  analysis_options options{.factors = true};
  options.factor_columns = true;
  const analysis expected = analyze(view_of(a), options);
  gsofa_options o;
  gsofa_options_init(&o);
  o.factors = o.factor_columns = 1;
  const arrays<std::int32_t, std::int32_t> short_columns(t);
  const arrays<std::int64_t, std::int64_t> long_rows(a);
  const gsofa_pattern patterns[] = {
      {60, a.row_ptr.data(), a.col_idx.data(), GSOFA_INDEX_64_32, GSOFA_CSR},
      {60, short_columns.ptr.data(), short_columns.idx.data(), GSOFA_INDEX_32_32, GSOFA_CSC},
      {60, long_rows.ptr.data(), long_rows.idx.data(), GSOFA_INDEX_64_64, GSOFA_CSR}};
  for (const gsofa_pattern& p : patterns) {
    handle h;
    REQUIRE(gsofa_analyze_pattern(&p, &o, &h.a) == GSOFA_OK);
    CHECK(gsofa_nnz_l(h.a) == expected.nnz_l);
    const std::int64_t* ptr = nullptr;
    const std::int32_t* idx = nullptr;
    REQUIRE(gsofa_u_columns(h.a, &ptr, &idx) == GSOFA_OK);
    CHECK(std::equal(expected.u_columns.col_ptr.begin(), expected.u_columns.col_ptr.end(), ptr));
    CHECK(std::equal(expected.u_columns.row_idx.begin(), expected.u_columns.row_idx.end(), idx));
    REQUIRE(gsofa_l_columns(h.a, &ptr, &idx) == GSOFA_OK);
    CHECK(std::equal(expected.l_columns.row_idx.begin(), expected.l_columns.row_idx.end(), idx));
    std::vector<std::int32_t> short_ptr(61), short_idx(at(expected.nnz_u));
    REQUIRE(gsofa_copy_u(h.a, GSOFA_CSR, GSOFA_INDEX_32_32, short_ptr.data(), short_idx.data()) ==
            GSOFA_OK);
    CHECK(std::ranges::equal(short_ptr, expected.u.row_ptr));
    CHECK(short_idx == expected.u.col_idx);
    std::vector<std::int64_t> long_ptr(61), long_idx(at(expected.nnz_l));
    REQUIRE(gsofa_copy_l(h.a, GSOFA_CSC, GSOFA_INDEX_64_64, long_ptr.data(), long_idx.data()) ==
            GSOFA_OK);
    CHECK(long_ptr == expected.l_columns.col_ptr);
    CHECK(std::ranges::equal(long_idx, expected.l_columns.row_idx));
    CHECK(gsofa_copy_l(h.a, 7, GSOFA_INDEX_64_64, long_ptr.data(), long_idx.data()) ==
          GSOFA_INVALID_INPUT);
    CHECK(gsofa_copy_l(h.a, GSOFA_CSC, 7, long_ptr.data(), long_idx.data()) == GSOFA_INVALID_INPUT);
    CHECK(gsofa_copy_l(h.a, GSOFA_CSC, GSOFA_INDEX_64_64, nullptr, long_idx.data()) ==
          GSOFA_INVALID_INPUT);

    std::vector<std::int32_t> parent(60);
    REQUIRE(gsofa_elimination_tree(&p, parent.data()) == GSOFA_OK);
    CHECK(parent == elimination_tree(view_of(a)));
    gsofa_profile* profile_found = nullptr;
    REQUIRE(gsofa_profile_pattern(&p, 3, 1, &profile_found) == GSOFA_OK);
    const fill_profile q = profile(view_of(a), 3);
    CHECK(gsofa_profile_flops(profile_found) == q.flops);
    CHECK(gsofa_profile_cells(profile_found) == 3);
    CHECK(std::equal(q.density.begin(), q.density.end(), gsofa_profile_density(profile_found)));
    CHECK(std::equal(q.parent.begin(), q.parent.end(), gsofa_profile_parent(profile_found)));
    CHECK(std::equal(q.l_col_counts.begin(), q.l_col_counts.end(),
                     gsofa_profile_l_col_counts(profile_found)));
    CHECK(std::equal(q.u_row_counts.begin(), q.u_row_counts.end(),
                     gsofa_profile_u_row_counts(profile_found)));
    gsofa_profile_free(profile_found);
    CHECK(gsofa_profile_pattern(&p, -1, 1, &profile_found) == GSOFA_INVALID_INPUT);
    CHECK(profile_found == nullptr);
  }
  const gsofa_variant* listed = nullptr;
  std::int32_t count = 0;
  REQUIRE(gsofa_variants(&listed, &count) == GSOFA_OK);
  const auto all = variants();
  REQUIRE(count == static_cast<std::int32_t>(all.size()));
  for (std::int32_t k = 0; k < count; ++k) {
    CHECK(listed[k].name == all[at(k)].name);
    CHECK(listed[k].device == all[at(k)].device);
    CHECK(listed[k].summary == all[at(k)].summary);
    CHECK(listed[k].unavailable == all[at(k)].unavailable);
  }
  CHECK((gsofa_has_metis() != 0) == has_metis());
  CHECK(gsofa_profile_parent(nullptr) == nullptr);
  CHECK(gsofa_profile_flops(nullptr) == 0);
  gsofa_profile_free(nullptr);
}

TEST_CASE("a matrix of order 0 has an answer, by every order and with every result") {
  const std::vector<std::int64_t> row_ptr{0};
  for (const order_method order : all_methods()) {
    CAPTURE(static_cast<int>(order));
    const analysis f = analyze(csr_view{0, row_ptr, {}}, {.order = order,
                                                          .factors = true,
                                                          .supernodes = true,
                                                          .supernodal = true,
                                                          .factor_columns = true,
                                                          .tree = true,
                                                          .masks = true});
    CHECK(f.n == 0);
    CHECK((f.nnz_l == 0 && f.nnz_u == 0 && f.nnz_a == 0 && f.flops == 0));
    CHECK((f.row_order.empty() && f.parent.empty() && f.supernode_starts.empty()));
    for (const csr_pattern* factor : {&f.l, &f.u}) {
      CHECK((factor->n == 0 && factor->row_ptr == row_ptr && factor->col_idx.empty()));
    }
    CHECK((f.u_columns.n == 0 && f.u_columns.col_ptr == row_ptr));
    CHECK(f.supernodal.first_column == std::vector<std::int32_t>{0});
    CHECK(f.supernodal.segment_begin == row_ptr);
    CHECK(f.masks.first_vertex == std::vector<std::int32_t>{0});
  }
  CHECK(elimination_tree(csr_view{0, row_ptr, {}}).empty());
  CHECK(profile(csr_view{0, row_ptr, {}}, 3).cells == 0);
  CHECK(estimate(csr_view{0, row_ptr, {}}).nnz_u == 0);
  analyzer kept;
  CHECK(kept.analyze(csr_view{0, row_ptr, {}}).n == 0);
  const csr_view two[] = {{0, row_ptr, {}}, {0, row_ptr, {}}};
  int calls = 0;
  analyze_batch(two, {}, [&](std::size_t, const analysis& f) { calls += f.n == 0 ? 1 : 0; });
  CHECK(calls == 2);
}

TEST_CASE("matrices are read from files: C++ and C give the same, and one line for a fault") {
  const temporary_directory folder;
  const std::string file = folder.path() / "a matrix";
  const auto write = [&](const std::string& text) { testing::put(file, text); };
  const std::string banner = "%%MatrixMarket matrix coordinate ";
  write(testing::gzip(banner + "real spd\r3 3 4\r1 1 nan\r3 1 1\r3 1 1\r2 2 0\r"));
  const csr_pattern a = read_pattern(file);
  CHECK((a.n == 3 && a.row_ptr == std::vector<std::int64_t>{0, 2, 3, 4}));
  CHECK(a.col_idx == std::vector<std::int32_t>{0, 2, 1, 0});
  gsofa_pattern p;
  REQUIRE(gsofa_read_pattern(file.c_str(), &p) == GSOFA_OK);
  CHECK((p.n == 3 && p.index_type == GSOFA_INDEX_64_32 && p.format == GSOFA_CSR));
  CHECK(std::ranges::equal(a.row_ptr, std::span(static_cast<const std::int64_t*>(p.pointers), 4)));
  CHECK(std::ranges::equal(a.col_idx, std::span(static_cast<const std::int32_t*>(p.indices), 4)));
  gsofa_pattern_free(&p);
  CHECK((p.n == 0 && p.pointers == nullptr && p.indices == nullptr));
  gsofa_pattern_free(&p);
  gsofa_pattern_free(nullptr);

  write(banner + "real general\n0 0 0\n");
  REQUIRE(gsofa_read_pattern(file.c_str(), &p) == GSOFA_OK);
  gsofa_analysis* found = nullptr;
  CHECK(gsofa_analyze_pattern(&p, nullptr, &found) == GSOFA_OK);
  CHECK(gsofa_n(found) == 0);
  gsofa_free(found);
  gsofa_pattern_free(&p);

  const std::pair<std::string, std::string> faults[] = {
      {banner + "real general\n3 3 1\n4 1 1\n", ":3: row index '4' is outside 1..3"},
      {banner + "real general\n2 3 0\n", ": the matrix is 2 x 3, not square"},
      {"", ": empty file"},
      {"\x89HDF\r\n\x1a\n", ": is an HDF5 file"}};
  for (const auto& [text, why] : faults) {
    write(text);
    CHECK(gsofa_read_pattern(file.c_str(), &p) == GSOFA_INVALID_INPUT);
    CHECK((p.n == 0 && p.pointers == nullptr));
    CHECK(std::string(gsofa_last_error()).starts_with(file + why));
    CHECK_THROWS_AS(read_pattern(file), invalid_input);
  }
  CHECK(gsofa_read_pattern((file + "/absent").c_str(), &p) == GSOFA_INVALID_INPUT);
  CHECK(gsofa_read_pattern(nullptr, &p) == GSOFA_INVALID_INPUT);
  CHECK(gsofa_read_pattern(file.c_str(), nullptr) == GSOFA_INVALID_INPUT);
}

TEST_CASE("the C interface: supernodes of columns are those of the C++ one") {
  const pattern a = reference::testing::five_point_grid(12);
  for (const std::int32_t relax : {1, 8}) {
    gsofa_options o;
    gsofa_options_init(&o);
    CHECK(o.relax == 1);
    o.order = GSOFA_ORDER_AMD;
    handle h;
    gsofa_supernodal_view v{};
    REQUIRE(gsofa_analyze(a.n_rows, a.row_ptr.data(), a.col_idx.data(), &o, &h.a) == GSOFA_OK);
    CHECK(gsofa_supernodal(h.a, &v) == GSOFA_INVALID_INPUT);
    CHECK(gsofa_supernodal(nullptr, &v) == GSOFA_INVALID_INPUT);
    gsofa_free(std::exchange(h.a, nullptr));
    o.supernodal = 1;
    o.most_columns = 5;
    o.relax = relax;
    REQUIRE(gsofa_analyze(a.n_rows, a.row_ptr.data(), a.col_idx.data(), &o, &h.a) == GSOFA_OK);
    REQUIRE(gsofa_supernodal(h.a, &v) == GSOFA_OK);
    CHECK(gsofa_supernodal(h.a, nullptr) == GSOFA_INVALID_INPUT);
    const analysis expected = analyze(
        csr_view{a.n_rows, a.row_ptr, a.col_idx},
        {.order = order_method::amd, .supernodal = true, .most_columns = 5, .relax = relax});
    const supernodal_factors& s = expected.supernodal;
    REQUIRE(v.supernodes == s.supernodes());
    CHECK(std::equal(s.first_column.begin(), s.first_column.end(), v.first_column));
    CHECK(std::equal(s.row_begin.begin(), s.row_begin.end(), v.row_begin));
    CHECK(std::equal(s.rows.begin(), s.rows.end(), v.rows));
    CHECK(std::equal(s.segment_begin.begin(), s.segment_begin.end(), v.segment_begin));
    CHECK(std::equal(s.segments.begin(), s.segments.end(), v.segments));
    CHECK(gsofa_nnz_l(h.a) == expected.nnz_l);
  }
}

TEST_CASE("the C interface: a batch") {
  std::mt19937_64 engine(41);
  std::vector<pattern> held;
  std::vector<gsofa_pattern> patterns;
  for (index_t k = 0; k < 12; ++k) held.push_back(random_pattern(engine, 1 + 4 * k, 5));
  for (const pattern& a : held) {
    patterns.push_back(
        {a.n_rows, a.row_ptr.data(), a.col_idx.data(), GSOFA_INDEX_64_32, GSOFA_CSR});
  }
  gsofa_options o;
  gsofa_options_init(&o);
  o.order = GSOFA_ORDER_AMD;
  o.match = 0;
  o.factors = 1;
  o.threads = 2;
  std::vector<gsofa_analysis*> out(patterns.size(), nullptr);
  REQUIRE(gsofa_analyze_batch(patterns.data(), patterns.size(), &o, out.data()) == GSOFA_OK);
  for (std::size_t k = 0; k < held.size(); ++k) {
    handle alone;
    REQUIRE(gsofa_analyze_pattern(&patterns[k], &o, &alone.a) == GSOFA_OK);
    CHECK(gsofa_n(out[k]) == held[k].n_rows);
    CHECK(gsofa_nnz_l(out[k]) == gsofa_nnz_l(alone.a));
    CHECK(gsofa_nnz_u(out[k]) == gsofa_nnz_u(alone.a));
    const std::int64_t* row_ptr = nullptr;
    const std::int32_t* col_idx = nullptr;
    CHECK(gsofa_u(out[k], &row_ptr, &col_idx) == GSOFA_OK);
    CHECK(row_ptr[held[k].n_rows] == gsofa_nnz_u(alone.a));
    gsofa_free(std::exchange(out[k], nullptr));
  }
  CHECK(gsofa_analyze_batch(nullptr, 0, nullptr, nullptr) == GSOFA_OK);
  CHECK(gsofa_analyze_batch(patterns.data(), 1, &o, nullptr) == GSOFA_INVALID_INPUT);
  CHECK(gsofa_analyze_batch(nullptr, 1, &o, out.data()) == GSOFA_INVALID_INPUT);
  const auto fails = [&](std::size_t k, const std::string& text) {
    out.assign(patterns.size(), reinterpret_cast<gsofa_analysis*>(&o));
    CHECK(gsofa_analyze_batch(patterns.data(), patterns.size(), &o, out.data()) ==
          GSOFA_INVALID_INPUT);
    CHECK(
        std::string(gsofa_last_error()).starts_with("pattern " + std::to_string(k) + ": " + text));
    for (const gsofa_analysis* a : out) CHECK(a == nullptr);
  };
  patterns[5].index_type = GSOFA_INDEX_32_32;
  fails(5, "a batch takes GSOFA_CSR");
  patterns[5].index_type = GSOFA_INDEX_64_32;
  patterns[7].pointers = nullptr;
  fails(7, "row_ptr is NULL");
  patterns[7].pointers = held[7].row_ptr.data();
  patterns[3].n = -1;
  fails(3, "");
}

TEST_CASE("the C interface: a pattern in device memory") {
  // The emulator's device memory is that of the host.
  const pattern a = reference::testing::five_point_grid(8);
  gsofa_device_pattern there{.n = a.n_rows,
                             .nnz = a.nnz(),
                             .pointers = a.row_ptr.data(),
                             .indices = a.col_idx.data(),
                             .index_type = GSOFA_INDEX_64_32,
                             .stream = nullptr};
  gsofa_options o;
  gsofa_options_init(&o);
  o.order = GSOFA_ORDER_AMD;
  handle h;
  CHECK(gsofa_analyze_device(&there, &o, nullptr) == GSOFA_INVALID_INPUT);
  CHECK(gsofa_analyze_device(nullptr, &o, &h.a) == GSOFA_INVALID_INPUT);
  const gsofa_status status = gsofa_analyze_device(&there, &o, &h.a);
  const std::string said = gsofa_last_error();
  if (status == GSOFA_OK) {
    CHECK(gsofa_nnz_u(h.a) ==
          analyze(csr_view{a.n_rows, a.row_ptr, a.col_idx}, {.order = order_method::amd}).nnz_u);
  } else if (status == GSOFA_UNAVAILABLE) {
    CHECK(said.starts_with("a pattern in device memory: "));
  } else {
    CHECK(said == "pattern: row_ptr is not in memory of device 0, the current one");
  }
  there.index_type = 7;
  gsofa_free(std::exchange(h.a, nullptr));
  CHECK(gsofa_analyze_device(&there, &o, &h.a) == GSOFA_INVALID_INPUT);
  CHECK(std::string(gsofa_last_error()) == "index_type: 7 is no gsofa_index_type");
  there.index_type = GSOFA_INDEX_32_32;
  there.n = std::int64_t{1} << 40;
  CHECK(gsofa_analyze_device(&there, &o, &h.a) == GSOFA_OVERFLOW);
}

TEST_CASE("the C interface: faults of patterns and of options") {
  const std::vector<std::int64_t> row_ptr{0, 1, 2};
  const std::vector<std::int32_t> good{0, 1};
  handle h;
  const auto text = [] { return std::string(gsofa_last_error()); };
  gsofa_pattern p{2, row_ptr.data(), good.data(), 9, GSOFA_CSR};
  CHECK(gsofa_analyze_pattern(&p, nullptr, &h.a) == GSOFA_INVALID_INPUT);
  CHECK(text() == "index_type: 9 is no gsofa_index_type");
  p.index_type = GSOFA_INDEX_64_32;
  p.format = 4;
  CHECK(gsofa_analyze_pattern(&p, nullptr, &h.a) == GSOFA_INVALID_INPUT);
  CHECK(text() == "format: 4 is no gsofa_format");
  p = {std::int64_t{1} << 40, row_ptr.data(), good.data(), GSOFA_INDEX_64_64, GSOFA_CSR};
  CHECK(gsofa_analyze_pattern(&p, nullptr, &h.a) == GSOFA_OVERFLOW);
  CHECK(text() == "pattern: order: 1099511627776 does not fit in 32 bits");
  p.index_type = GSOFA_INDEX_64_32;
  CHECK(gsofa_analyze_pattern(&p, nullptr, &h.a) == GSOFA_OVERFLOW);
  CHECK(gsofa_analyze_pattern(nullptr, nullptr, &h.a) == GSOFA_INVALID_INPUT);
  p = {2, row_ptr.data(), nullptr, GSOFA_INDEX_64_32, GSOFA_CSC};
  CHECK(gsofa_elimination_tree(&p, nullptr) == GSOFA_INVALID_INPUT);
  std::int32_t parent[2];
  CHECK(gsofa_elimination_tree(&p, parent) == GSOFA_INVALID_INPUT);
  CHECK(text() == "row_idx is NULL");

  // A structure of another version: shorter, longer with nothing in it, longer with something.
  gsofa_options o{};
  CHECK(gsofa_analyze(2, row_ptr.data(), good.data(), &o, &h.a) == GSOFA_INVALID_INPUT);
  CHECK(text().starts_with("options: size 0 is that of no gsofa_options"));
  struct {
    gsofa_options known;
    std::int64_t later;
  } newer;
  gsofa_options_init_sized(&newer.known, sizeof newer);
  CHECK(newer.later == 0);
  CHECK(newer.known.size == sizeof newer);
  CHECK(gsofa_analyze(2, row_ptr.data(), good.data(), &newer.known, &h.a) == GSOFA_OK);
  gsofa_free(std::exchange(h.a, nullptr));
  newer.later = 1;
  CHECK(gsofa_analyze(2, row_ptr.data(), good.data(), &newer.known, &h.a) == GSOFA_INVALID_INPUT);
  CHECK(text().starts_with("options: a member beyond"));
  // No byte beyond the caller's size is written.
  unsigned char bytes[sizeof(gsofa_options)];
  std::memset(bytes, 0x5a, sizeof bytes);
  gsofa_options_init_sized(reinterpret_cast<gsofa_options*>(bytes), 16);
  CHECK(std::count(bytes + 16, bytes + sizeof bytes, 0x5a) ==
        static_cast<std::ptrdiff_t>(sizeof bytes - 16));
}

TEST_CASE("the C interface: progress, cancellation, log") {
  const pattern a = reference::testing::five_point_grid(200);
  struct seen {
    int calls = 0;
    int lines = 0;
    int cancel_from = GSOFA_STAGE_OUTPUT + 1;
  } s;
  gsofa_options o;
  gsofa_options_init(&o);
  o.order = GSOFA_ORDER_AMD;
  o.user = &s;
  o.progress_seconds = 1e-4;
  o.progress = [](int stage, double share, void* user) {
    auto& mine = *static_cast<seen*>(user);
    ++mine.calls;
    return stage >= mine.cancel_from || share > 1 ? 1 : 0;
  };
  o.log = [](const char* line, void* user) {
    static_cast<seen*>(user)->lines += std::strlen(line) > 0 ? 1 : 0;
  };
  handle h;
  CHECK(gsofa_analyze(a.n_rows, a.row_ptr.data(), a.col_idx.data(), &o, &h.a) == GSOFA_OK);
  CHECK(s.calls > 1);
  CHECK(s.lines > 0);
  gsofa_free(std::exchange(h.a, nullptr));
  s.cancel_from = GSOFA_STAGE_ORDER;
  CHECK(gsofa_analyze(a.n_rows, a.row_ptr.data(), a.col_idx.data(), &o, &h.a) == GSOFA_CANCELLED);
  CHECK(h.a == nullptr);
  CHECK(std::string(gsofa_last_error()) == "cancelled by the caller");
}

}  // namespace
}  // namespace gsofa
