// labels: oracle
#include "harness/check/cross_check.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "common/pattern.hpp"
#include "common/variant.hpp"
#include "harness/check/check_suite.hpp"
#include "harness/check/test_patterns.hpp"
#include "harness/testing/fake_variant.hpp"

using namespace gsofa;

TEST_CASE("the oracles agree on special shapes and random patterns") {
  for (const auto& p : special_patterns()) {
    CAPTURE(p.name);
    CHECK_FALSE(refute_oracles(p.a, small_truth(p.a)).has_value());
  }
  for (std::uint64_t k = 0; k < 300; ++k) {
    const auto p = random_pattern(11, k);
    CAPTURE(k);
    CHECK_FALSE(refute_oracles(p.a, small_truth(p.a)).has_value());
  }
}

TEST_CASE("random patterns are valid, with full diagonal, and depend on seed and number only") {
  std::set<std::string> kinds;
  index_t largest = 0;
  for (std::uint64_t k = 0; k < 300; ++k) {
    const auto p = random_pattern(3, k);
    validate(p.a.view(), p.name);
    CHECK(p.a.n_rows == p.a.n_cols);
    CHECK(count_missing_diagonal(p.a.view()) == 0);
    CHECK(p.a == random_pattern(3, k).a);
    kinds.insert(p.name);
    largest = std::max(largest, p.a.n_rows);
  }
  CHECK(kinds.size() >= 9);
  CHECK(largest > 128);
}

TEST_CASE("patterns of large order stand next to 2^15 and 2^16, fill, and stay sparse") {
  std::set<index_t> orders;
  for (std::size_t k = 0; k < large_pattern_count(); ++k) {
    const auto p = large_pattern(k);
    CAPTURE(p.name);
    orders.insert(p.a.n_rows);
    validate(p.a.view(), p.name);
    CHECK(count_missing_diagonal(p.a.view()) == 0);
    const auto truth = small_truth(p.a);
    CHECK_FALSE(refute_oracles(p.a, truth).has_value());
    CHECK(truth.nnz_l + truth.nnz_u > p.a.nnz() + p.a.n_rows / 2);
    CHECK(truth.nnz_l + truth.nnz_u < 8 * offset_t{p.a.n_rows});
    // Counts and columns beyond 16 bits.
    CHECK(truth.l_row_counts.back() == p.a.n_rows - 1);
  }
  CHECK(orders == std::set<index_t>{32767, 32768, 32769, 65535, 65536, 65537, 70001});
}

TEST_CASE("refute() accepts a right variant and names what a wrong one does") {
  const pattern a = random_pattern(1, 2).a;
  const auto truth = small_truth(a);
  const run_settings settings{
      .options = option_set(), .wants = want_set::all(), .threads = 1, .chunk_size = 2};
  CHECK_FALSE(refute(testing::fake_info(), settings, a, truth).has_value());
  const auto wrong = testing::fake_info({}, [](result& r) { r.nnz_u -= 1; });
  CHECK(refute(wrong, settings, a, truth).has_value());
  const auto thrower = testing::fake_info([](run_context&) { throw std::runtime_error("boom"); });
  CHECK(refute(thrower, settings, a, truth).value().reason.find("boom") != std::string::npos);
  const auto endless = testing::fake_info([](run_context& context) {
    for (;;) context.check_deadline();
  });
  CHECK(refute(endless, settings, a, truth, 0.01).value().timed_out);
  // Only the second run is wrong.
  int collected = 0;
  const auto stale = testing::fake_info({}, [&](result& r) { r.nnz_u += collected++; });
  CHECK(refute(stale, settings, a, truth).value().reason.starts_with("second run"));
}

TEST_CASE("the settings to check cover every option") {
  variant_info info = testing::fake_info();
  info.multithreaded = true;
  info.options = {
      {.name = "flag", .default_value = true, .help = ""},
      {.name = "size", .default_value = std::int64_t{8}, .help = "", .minimum = 1, .maximum = 16},
      {.name = "way", .default_value = std::string("a"), .help = "", .choices = {"a", "b", "c"}}};
  std::set<std::string> texts;
  std::set<int> threads;
  for (const auto& s : settings_to_check(info)) {
    texts.insert(s.text);
    threads.insert(s.settings.threads);
  }
  for (const char* text :
       {"defaults", "flag=false", "size=1", "size=2", "size=16", "way=b", "way=c", "chunk size 0",
        "chunk size 1", "every option turned", "defaults, 2 threads"}) {
    CAPTURE(text);
    CHECK(texts.contains(text));
  }
  CHECK(threads == std::set<int>{1, 2});
}

TEST_CASE("where settings take turns, a variant runs each bundled matrix in one order") {
  check_options options;
  options.suite = "full";
  options.rotate = 1;
  const check_plan rotating(options);
  const variant_info &first = all_variants()[0], &second = all_variants()[1];
  std::set<std::size_t> orders;
  for (std::size_t natural = 1; natural < 20; natural += 2) {
    CHECK(rotating.includes_matrix(natural - 1, first) != rotating.includes_matrix(natural, first));
    CHECK(rotating.includes_matrix(natural, first) != rotating.includes_matrix(natural, second));
    orders.insert(rotating.includes_matrix(natural, first) ? 1 : 0);
  }
  CHECK(orders.size() == 2);
  options.rotate = 0;
  CHECK(check_plan(options).includes_matrix(0, first));
  options.suite = "small";
  options.rotate = 2;
  CHECK(check_plan(options).includes_matrix(1, first));
}

TEST_CASE("pictures show entries as 1") {
  const auto all = special_patterns();
  const auto p = std::ranges::find(all, "upper triangular of order 2", &named_pattern::name);
  REQUIRE(p != all.end());
  CHECK(picture(p->a.view()) == "    0 1\n  0 1 1\n  1 . 1\n");
}
