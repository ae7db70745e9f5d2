#include "variants/maxid/maxid.hpp"

#include <doctest/doctest.h>

#include "common/generators.hpp"
#include "reference/row_union.hpp"
#include "reference/verify_result.hpp"

using namespace gsofa;

namespace {

// nnz(L) + nnz(U) that `engine` finds.
offset_t entries(maxid::maxid_engine& engine, index_t n, int threads, run_context& context) {
  detail::row_store rows;
  rows.reset(n, threads, true);
  context.phases.start(phase_id::traverse);
  engine.run(rows, context);
  context.phases.stop();
  const result found = rows.collect(want::digest);
  return found.nnz_l + found.nnz_u;
}

}  // namespace

TEST_CASE(
    "a limit is noticed between two levels, also by several threads; a new run starts afresh") {
  const pattern a = generate("grid5:nx=40");
  const offset_t expected = reference::row_union(a).nnz();
  for (const int threads : {1, 3}) {
    CAPTURE(threads);
    // All sources in one batch: nothing but the levels can notice.
    maxid::maxid_engine engine(a, {.concurrent = a.n_rows}, threads);
    run_context context;
    context.set_timeout(1e-3);
    CHECK_THROWS_AS(entries(engine, a.n_rows, threads, context), timeout_error);
    context.set_timeout(0);
    CHECK(entries(engine, a.n_rows, threads, context) == expected);
    CHECK(entries(engine, a.n_rows, threads, context) == expected);
  }
}
