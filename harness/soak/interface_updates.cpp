// gsofa_analyzer_update(): an update gives the results of a fresh analysis in the same order.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "harness/soak/interface_calls.hpp"

namespace gsofa::soak {

namespace {

// The matrix with rows and columns in reverse order.
call reversed(const call& c) {
  call out = c;
  out.row_ptr = {0};
  out.col_idx.clear();
  for (std::int32_t i = c.n - 1; i >= 0; --i) {
    for (std::int64_t p = c.row_ptr[at(i)]; p < c.row_ptr[at(i) + 1]; ++p) {
      out.col_idx.push_back(c.n - 1 - c.col_idx[at(p)]);
    }
    out.row_ptr.push_back(static_cast<std::int64_t>(out.col_idx.size()));
  }
  return out;
}

gsofa_result numbers_of(const gsofa_analysis* f) {
  gsofa_result r;
  require_status(CALL(gsofa_get_result_sized)(f, &r, sizeof r), GSOFA_OK,
                 "the result of an update");
  return r;
}

void require_same(const gsofa_result& a, const gsofa_result& b, const char* what) {
  require(a.n == b.n && a.nnz_l == b.nnz_l && a.nnz_u == b.nnz_u &&
              std::equal(a.row_order, a.row_order + a.n, b.row_order) &&
              std::equal(a.col_order, a.col_order + a.n, b.col_order),
          what);
}

// The analysis by other means.
struct analyzed {
  gsofa_analysis* a = nullptr;
  analyzed(const gsofa_pattern& pattern, const gsofa_options& options) {
    require_status(CALL(gsofa_analyze_pattern)(&pattern, &options, &a), GSOFA_OK,
                   "the pattern of an update");
  }
  analyzed(const analyzed&) = delete;
  analyzed& operator=(const analyzed&) = delete;
  ~analyzed() { CALL(gsofa_free)(a); }
};

}  // namespace

void check_updates(dice& d, const call& first) {
  const stored_pattern a(first, d.below(2), d.below(3));
  gsofa_analyzer* by = nullptr;
  require_status(CALL(gsofa_analyzer_create)(&by), GSOFA_OK, "gsofa_analyzer_create");
  const std::unique_ptr<gsofa_analyzer, void (*)(gsofa_analyzer*)> frees(by, gsofa_analyzer_free);
  indices previous(at(first.n));
  std::iota(previous.begin(), previous.end(), 0);
  const gsofa_analysis* f = nullptr;
  const analyzed expected(a.view, first.options);
  for (int round = 0; round < 2; ++round) {
    require_status(CALL(gsofa_analyzer_update)(by, &a.view, d.one_in(2) ? previous.data() : nullptr,
                                               &first.options, &f),
                   GSOFA_OK, "gsofa_analyzer_update");
    require_same(numbers_of(f), numbers_of(expected.a), "an update finds something else");
    indices bad = previous;
    bad[at(d.below(first.n))] = d.one_in(2) ? first.n : -2;
    require_status(CALL(gsofa_analyzer_update)(by, &a.view, bad.data(), &first.options, &f),
                   GSOFA_INVALID_INPUT, "previous rows out of range");
    require(f == nullptr, "a refused update has a result");
  }
  call c = reversed(first);
  const stored_pattern b(c, GSOFA_CSR, GSOFA_INDEX_64_32);
  std::ranges::reverse(previous);
  require_status(CALL(gsofa_analyzer_update)(by, &b.view, previous.data(), &c.options, &f),
                 GSOFA_OK, "an update of other numbers");
  const gsofa_result r = numbers_of(f);
  c.permutation.assign(r.col_order, r.col_order + r.n);
  c.options.order = GSOFA_ORDER_GIVEN;
  c.options.permutation = c.permutation.data();
  const analyzed given(b.view, c.options);
  require_same(r, numbers_of(given.a), "an update is not the analysis of its order");
}

}  // namespace gsofa::soak
