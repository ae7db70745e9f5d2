// analyze() with every one of its allocations failing in turn, once and from there on.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "gsofa/gsofa.h"
#include "gsofa/gsofa.hpp"
#include "harness/testing/failing_malloc.hpp"

namespace gsofa {
namespace {

// A square grid of side^2 vertices with convection: every third entry has no counterpart.
csr_pattern grid(std::int32_t side) {
  csr_pattern a;
  a.n = side * side;
  for (std::int32_t v = 0; v < a.n; ++v) {
    if (v >= side && v % 3 != 0) a.col_idx.push_back(v - side);
    if (v % side != 0) a.col_idx.push_back(v - 1);
    a.col_idx.push_back(v);
    if (v % side != side - 1) a.col_idx.push_back(v + 1);
    if (v + side < a.n) a.col_idx.push_back(v + side);
    a.row_ptr.push_back(static_cast<std::int64_t>(a.col_idx.size()));
  }
  return a;
}

// Redirects standard error into a file until the end of the scope.
class captured_stderr {
 public:
  captured_stderr() : kept_(dup(STDERR_FILENO)), file_(std::tmpfile()) {
    dup2(fileno(file_), STDERR_FILENO);
  }
  ~captured_stderr() {
    dup2(kept_, STDERR_FILENO);
    close(kept_);
    std::fclose(file_);  // NOLINT
  }
  captured_stderr(const captured_stderr&) = delete;
  captured_stderr& operator=(const captured_stderr&) = delete;
  [[nodiscard]] off_t bytes() const { return lseek(fileno(file_), 0, SEEK_END); }

 private:
  int kept_;
  std::FILE* file_;
};

struct outcome {
  enum { same, out_of_memory, no_threads, wrong } kind = wrong;
  std::string text;
};

outcome analyze_again(const csr_pattern& a, const analysis_options& options,
                      const analysis& expected) {
  try {
    const analysis found = analyze(a.view(), options);
    fail_allocations(0, 0);
    const bool equal = found.row_order == expected.row_order && found.nnz_l == expected.nnz_l &&
                       found.u.col_idx == expected.u.col_idx &&
                       found.supernode_starts == expected.supernode_starts;
    return {equal ? outcome::same : outcome::wrong, "another result"};
  } catch (const analysis_error& e) {
    fail_allocations(0, 0);
    const std::string text = e.what();
    if (e.kind() == failure::out_of_memory) return {outcome::out_of_memory, text};
    return {text.starts_with("cannot start ") ? outcome::no_threads : outcome::wrong, text};
  } catch (const std::exception& e) {
    fail_allocations(0, 0);
    return {outcome::wrong, std::string("escaped: ") + e.what()};
  }
}

// Allocations that fail: all the first ones, then ever fewer.
long next(long k) { return k + 1 + k / 50; }

void sweep(const csr_pattern& a, const analysis_options& options) {
  const analysis expected = analyze(a.view(), options);
  fail_allocations(0, 0);
  analyze(a.view(), options);
  const long needed = allocations_made();
  REQUIRE(needed > 20);
  const captured_stderr silent;
  for (const bool onwards : {false, true}) {
    long refused = 0;
    for (long k = 1; k <= needed; k = next(k)) {
      CAPTURE(k);
      CAPTURE(onwards);
      const long before = live_allocations();
      fail_allocations(k, onwards ? std::numeric_limits<long>::max() : k);
      {
        const outcome found = analyze_again(a, options, expected);
        CAPTURE(found.text);
        CHECK(found.kind != outcome::wrong);
        if (options.threads == 1) CHECK(found.kind != outcome::no_threads);
        refused += found.kind != outcome::same ? 1 : 0;
      }
      // Threads keep the memory that they have for the next analysis.
      if (options.threads == 1) CHECK(live_allocations() == before);
    }
    CHECK(refused > 0);
  }
  CHECK(silent.bytes() == 0);
  CHECK(analyze_again(a, options, expected).kind == outcome::same);
}

constexpr const char* variant = "cpu_bitmap_panels";

TEST_CASE("where the system refuses threads, those that started do the work") {
  const csr_pattern a = grid(150);
  for (const order_method order : {order_method::cpu_nested_dissection, order_method::natural}) {
    analysis_options options{
        .variant = variant, .threads = 1, .order = order, .factors = true, .supernodes = true};
    const analysis expected = analyze(a.view(), options);
    options.threads = 16;
    for (const bool progress : {false, true}) {
      if (progress) options.progress = [](const analysis_progress&) { return true; };
      for (const long count : {0, 1, 3, 40}) {
        CAPTURE(count);
        allow_threads(count);
        const outcome found = analyze_again(a, options, expected);
        allow_threads(std::numeric_limits<long>::max());
        CAPTURE(found.text);
        CHECK(found.kind == outcome::same);
      }
    }
  }
}

TEST_CASE("a failed allocation is the error out_of_memory, leaks nothing and prints nothing") {
  const csr_pattern a = grid(12);
  for (const order_method order : {order_method::automatic, order_method::amd, order_method::amf,
                                   order_method::colamd, order_method::natural}) {
    CAPTURE(static_cast<int>(order));
    sweep(a, {.variant = variant, .order = order, .factors = true, .supernodes = true});
  }
}

TEST_CASE("METIS lacking memory at any depth of its dissection is out_of_memory") {
  sweep(grid(40), {.variant = variant});
}

TEST_CASE("a failed allocation on any of several threads ends them all") {
  sweep(grid(12), {.variant = variant, .threads = 3, .order = order_method::natural});
}

TEST_CASE("a failed allocation of an analyzer is out_of_memory") {
  const csr_pattern a = grid(12);
  const analysis_options options{
      .variant = variant, .order = order_method::natural, .factors = true};
  const auto analyze_once = [&] {
    analyzer by(options);
    return by.analyze(a.view()).nnz_u;
  };
  const std::int64_t expected = analyze_once();
  fail_allocations(0, 0);
  analyze_once();
  const long needed = allocations_made();
  REQUIRE(needed > 20);
  for (const bool onwards : {false, true}) {
    long refused = 0;
    for (long k = 1; k <= needed; k = next(k)) {
      CAPTURE(k);
      CAPTURE(onwards);
      std::int64_t found = 0;
      fail_allocations(k, onwards ? std::numeric_limits<long>::max() : k);
      try {
        found = analyze_once();
        fail_allocations(0, 0);
        CHECK(found == expected);
      } catch (const analysis_error& e) {
        fail_allocations(0, 0);
        const bool no_thread = std::string(e.what()).starts_with("cannot start ");
        CHECK((e.kind() == failure::out_of_memory || no_thread));
        ++refused;
      } catch (const std::bad_alloc&) {
        fail_allocations(0, 0);  // of the analyzer itself
        ++refused;
      }
    }
    CHECK(refused > 10);
  }
}

TEST_CASE("rows searched under a small budget lack memory as bit masks do") {
  sweep(grid(60), {.variant = variant, .memory_budget_mb = 1, .order = order_method::natural});
}

TEST_CASE("a cancelled analysis leaks nothing, in whatever stage it ends") {
  const csr_pattern a = grid(150);
  fail_allocations(0, 0);
  for (const order_method order :
       {order_method::automatic, order_method::cpu_nested_dissection, order_method::natural}) {
    CAPTURE(static_cast<int>(order));
    analysis_options options{.variant = variant, .order = order};
    options.progress_seconds = 1e-4;
    int calls = 0, cancelled = 0, last = 0;
    options.progress = [&](const analysis_progress&) { return ++calls < last; };
    const auto analyze_some = [&] {
      for (last = 1; last < 12; ++last) {
        calls = 0;
        try {
          analyze(a.view(), options);
        } catch (const analysis_error& e) {
          CHECK(e.kind() == failure::cancelled);
          ++cancelled;
        }
      }
    };
    analyze_some();
    const long before = live_allocations();
    for (int k = 0; k < 5; ++k) analyze_some();
    CHECK(cancelled > 5);
    CHECK(live_allocations() - before < 5);
  }
}

TEST_CASE("a second analysis by an analyzer allocates nothing as long as the matrix") {
  const csr_pattern a = grid(300);
  const analysis first = analyze(a.view(), {.order = order_method::amd});
  for (const order_method order : {order_method::natural, order_method::given}) {
    CAPTURE(static_cast<int>(order));
    analyzer kept({.variant = variant, .threads = 1, .order = order});
    if (order == order_method::given) kept.options().permutation = first.row_order;
    kept.analyze(a.view());
    fail_allocations(0, 0);
    kept.analyze(a.view());
    CHECK(largest_allocation() < a.n);
    fail_allocations(0, 0);
    analyze(a.view(), kept.options());
    CHECK(largest_allocation() > 8 * long{a.n});
  }
}

TEST_CASE("neither does one that finds factors, supernodes of columns or masks") {
  const csr_pattern a = grid(200);
  const analysis first = analyze(a.view(), {.order = order_method::amd});
  for (int kind = 0; kind < 3; ++kind) {
    CAPTURE(kind);
    // The order is a postorder: supernodes and masks are read off the panels.
    analysis_options options{.variant = variant,
                             .threads = 1,
                             .order = order_method::given,
                             .permutation = first.row_order,
                             .factors = kind == 0,
                             .supernodal = kind == 1};
    options.masks = kind == 2;
    analyzer kept(options);
    kept.analyze(a.view());
    fail_allocations(0, 0);
    const analysis& found = kept.analyze(a.view());
    CHECK(largest_allocation() < a.n);
    const analysis expected = analyze(a.view(), options);
    CHECK(found.u.col_idx == expected.u.col_idx);
    CHECK(found.l.row_ptr == expected.l.row_ptr);
    CHECK(found.supernodal.rows == expected.supernodal.rows);
    CHECK(found.supernodal.segments == expected.supernodal.segments);
    CHECK(found.masks.masks == expected.masks.masks);
  }
}

TEST_CASE("the C interface answers with a status and a text") {
  const csr_pattern a = grid(12);
  fail_allocations(0, 0);
  gsofa_analysis* found = nullptr;
  REQUIRE(gsofa_analyze(a.n, a.row_ptr.data(), a.col_idx.data(), nullptr, &found) == GSOFA_OK);
  gsofa_free(found);
  const long needed = allocations_made();
  int refused = 0;
  for (long k = 1; k <= needed; k = next(k)) {
    CAPTURE(k);
    fail_allocations(k, std::numeric_limits<long>::max());
    const auto status = gsofa_analyze(a.n, a.row_ptr.data(), a.col_idx.data(), nullptr, &found);
    fail_allocations(0, 0);
    // CUDA's runtime does without what it asks for last.
    if (status == GSOFA_OK) {
      REQUIRE(found != nullptr);
      gsofa_free(found);
      continue;
    }
    ++refused;
    CHECK(status == GSOFA_OUT_OF_MEMORY);
    CHECK(found == nullptr);
    CHECK(std::string(gsofa_last_error()) == "the host is out of memory");
  }
  CHECK(refused > 10);
}

}  // namespace
}  // namespace gsofa
