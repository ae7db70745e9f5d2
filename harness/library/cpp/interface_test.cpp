// What analyze() takes and gives in other forms: isolated vertices, other integers, columns,
// callbacks, files.

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
#include "harness/library/cpp/test_analyses.hpp"
#include "reference/test_patterns.hpp"

namespace gsofa {
namespace {

using namespace library::testing;
using reference::testing::draw;
using reference::testing::random_pattern;

std::vector<order_method> all_methods() {
  std::vector<order_method> all{order_method::automatic,
                                order_method::amd,
                                order_method::amf,
                                order_method::colamd,
                                order_method::natural,
                                order_method::given,
                                order_method::cpu_nested_dissection,
                                order_method::tournament};
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
      (void)profile(view_of(reference::testing::five_point_grid(600)), 5, options);
      FAIL("nothing was thrown");
    } catch (const analysis_error& e) {
      CHECK(e.kind() == failure::cancelled);
    }
  }
  options.progress = [](const analysis_progress&) { return true; };
  options.progress_seconds = 0;
  CHECK_THROWS_AS(profile(view_of(a), 5, options), invalid_input);
  CHECK_THROWS_AS(profile(view_of(a), 8193), invalid_input);
  CHECK_THROWS_AS(profile(view_of(a), 5, {.threads = -1}), invalid_input);
}

TEST_CASE("what a callback throws passes through") {
  const pattern a = reference::testing::five_point_grid(200);
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

TEST_CASE("a matrix of order 0 has an answer, by every order and with every result") {
  const std::vector<std::int64_t> row_ptr{0};
  for (const order_method order : all_methods()) {
    CAPTURE(static_cast<int>(order));
    const analysis f = analyze(csr_view{0, row_ptr, {}}, {.order = order,
                                                          .factors = true,
                                                          .factor_columns = true,
                                                          .supernodes = true,
                                                          .supernodal = true,
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
}

TEST_CASE("a callback may not begin an analysis of its own analyzer") {
  const pattern a = reference::testing::five_point_grid(9);
  analyzer by({.order = order_method::amd}), other({.order = order_method::amd});
  int calls = 0;
  by.options().progress = [&](const analysis_progress&) {
    ++calls;
    CHECK_THROWS_WITH_AS(by.analyze(view_of(a)), "analyzer: an analysis has not ended yet",
                         invalid_input);
    CHECK(other.analyze(view_of(a)).n == 81);
    by.options().order = order_method::natural;  // of the next analysis
    return true;
  };
  CHECK(by.analyze(view_of(a)).order == "amd");
  CHECK(calls > 0);
  by.options().progress = nullptr;
  CHECK(by.analyze(view_of(a)).order == "natural");
  const analyzer moved = std::move(by);
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
  CHECK(result_of(found).n == 0);
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

}  // namespace
}  // namespace gsofa
