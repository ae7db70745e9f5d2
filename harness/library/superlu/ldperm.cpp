// dldperm_dist(), sldperm_dist() and zldperm_dist() of SuperLU_DIST: the row permutation with the
// largest product of magnitudes and its scales (job 5 of MC64, Duff & Koster 2001), by libgsofa.
//
// The first rank of a process grid calls it with the columns of A and broadcasts the result.
// $GSOFA_MATCH=weighted requests it; jobs 1 to 4 are SuperLU_DIST's. A structurally singular matrix
// returns 1, as MC64 does; SuperLU_DIST then leaves the rows in place.

#include <dlfcn.h>

#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gsofa/gsofa.hpp"
#include "harness/library/superlu/environment.hpp"
#include "harness/library/superlu/superlu_headers.hpp"

namespace gsofa::superlu {

namespace {

template <class Value, class Real>
using permutation_routine = int (*)(int job, int n, int_t nnz, int_t* col_ptr, int_t* rows,
                                    Value* values, row_index* perm, Real* u, Real* v);

bool is_ours(int job, call_mode mode) {
  const std::string_view name = setting("GSOFA_MATCH");
  if (!name.empty() && name != "weighted" && name != "off") {
    throw invalid_input("GSOFA_MATCH is '" + std::string(name) + "': one of weighted, off");
  }
  return mode != call_mode::off && name == "weighted" && job == 5;
}

// Sets perm, u and v; 1 if the matrix is structurally singular, else 0.
template <class Real>
int give(match_result& found, row_index* perm, Real* u, Real* v) {
  for (std::size_t k = 0; k < found.unmatched_cols.size(); ++k) {
    found.row_of_col[static_cast<std::size_t>(found.unmatched_cols[k])] = found.unmatched_rows[k];
  }
  found.row_scale.resize(found.row_of_col.size(), 1);
  found.col_scale.resize(found.row_of_col.size(), 1);
  for (std::size_t j = 0; j < found.row_of_col.size(); ++j) {
    perm[found.row_of_col[j]] = static_cast<row_index>(j);
    u[j] = static_cast<Real>(std::log(found.row_scale[j]));
    v[j] = static_cast<Real>(std::log(found.col_scale[j]));
  }
  return found.unmatched_rows.empty() ? 0 : 1;
}

template <class Value, class Real>
int permute_rows(const char* name, permutation_routine<Value, Real> own, int job, int n, int_t nnz,
                 int_t* col_ptr, int_t* rows, Value* values, row_index* perm, Real* u, Real* v) {
  try {
    const call_mode mode = mode_of_calls();
    if (!is_ours(job, mode)) {
      for (void* place : {RTLD_NEXT, RTLD_DEFAULT}) {
        const auto original =
            reinterpret_cast<permutation_routine<Value, Real>>(dlsym(place, name));
        if (original != nullptr && original != own) {
          return original(job, n, nnz, col_ptr, rows, values, perm, u, v);
        }
      }
      throw invalid_input("no SuperLU_DIST with this routine is loaded");
    }
    const auto begin = std::chrono::steady_clock::now();
    const auto entries = static_cast<std::size_t>(nnz);
    std::vector<double> magnitudes(entries);
    for (std::size_t p = 0; p < entries; ++p) magnitudes[p] = std::abs(values[p]);
    const basic_csc_view<int_t, int_t> columns{
        static_cast<int_t>(n), {col_ptr, static_cast<std::size_t>(n) + 1}, {rows, entries}};
    match_result found = match(columns, {.method = "weighted", .values = magnitudes});
    if (mode == call_mode::verbose) {
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
      std::fprintf(stderr, "gsofa: %s: n %d, %lld entries, rank %d, %.3g s\n", name, n,
                   static_cast<long long>(nnz), static_cast<int>(found.structural_rank),
                   taken.count());
    }
    return give(found, perm, u, v);
  } catch (const std::exception& e) {
    give_up(name, e.what());
  }
}

}  // namespace

}  // namespace gsofa::superlu

using gsofa::superlu::row_index;

// Under the name of SuperLU_DIST, and under one of its own for programs that call it themselves.
// The headers of the other types may be missing.
#define GSOFA_LDPERM(routine, Value, Real)                                                    \
  extern "C" [[gnu::visibility("default")]] int gsofa_##routine(                              \
      int job, int n, int_t nnz, int_t* col_ptr, int_t* rows, Value* values, row_index* perm, \
      Real* u, Real* v) {                                                                     \
    return gsofa::superlu::permute_rows<Value, Real>(#routine, gsofa_##routine, job, n, nnz,  \
                                                     col_ptr, rows, values, perm, u, v);      \
  }                                                                                           \
  extern "C" [[gnu::visibility("default"), gnu::alias("gsofa_" #routine)]] int routine(       \
      int, int, int_t, int_t*, int_t*, Value*, row_index*, Real*, Real*)
GSOFA_LDPERM(dldperm_dist, double, double);
GSOFA_LDPERM(sldperm_dist, float, float);
GSOFA_LDPERM(zldperm_dist, std::complex<double>, double);
