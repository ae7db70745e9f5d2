// dldperm_dist, sldperm_dist and zldperm_dist of libgsofa. Scales that bound all entries by 1 and
// make the permuted diagonal 1 prove that no permutation has a larger product.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <csignal>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include "common/generators.hpp"
#include "common/random.hpp"
#include "harness/library/superlu/superlu_headers.hpp"
#include "harness/library/superlu/test_processes.hpp"

using namespace gsofa;
using superlu::row_index;

template <class Value, class Real>
using routine_of = int(int, int, int_t, int_t*, int_t*, Value*, row_index*, Real*, Real*);
extern "C" routine_of<double, double> gsofa_dldperm_dist;
extern "C" routine_of<float, float> gsofa_sldperm_dist;
extern "C" routine_of<std::complex<double>, double> gsofa_zldperm_dist;

namespace {

// Columns with magnitudes over six orders, and what a call gives.
template <class Value, class Real>
struct call_of_ldperm {
  std::vector<int_t> begin, rows;
  std::vector<Value> values;
  std::vector<row_index> perm;
  std::vector<Real> u, v;

  explicit call_of_ldperm(const pattern& a)
      : perm(at(a.n_rows), -1), u(perm.size(), -1), v(perm.size(), -1) {
    const pattern t = transpose(a);
    begin.assign(t.row_ptr.begin(), t.row_ptr.end());
    rows.assign(t.col_idx.begin(), t.col_idx.end());
    random_source random(static_cast<std::uint64_t>(a.nnz()));
    while (values.size() < rows.size()) {
      const auto size = static_cast<Real>(std::exp2(static_cast<double>(random.below(20))));
      values.emplace_back(random.below(2) == 0 ? size : -size);
      if constexpr (!std::is_same_v<Value, Real>) values.back() *= Value(0.6, 0.8);
    }
  }
  int call(int job, routine_of<Value, Real>& routine) {
    return routine(job, static_cast<int>(perm.size()), static_cast<int_t>(rows.size()),
                   begin.data(), rows.data(), values.data(), perm.data(), u.data(), v.data());
  }
  // The most by which a scaled entry exceeds 1, or one of the permuted diagonal, which must be
  // complete, differs from 1.
  [[nodiscard]] double fault() const {
    double most = 0;
    for (std::size_t j = 0; j < perm.size(); ++j) {
      double diagonal = 0;
      for (auto p = at(begin[j]); p < at(begin[j + 1]); ++p) {
        const std::size_t i = at(rows[p]);
        const double scaled = std::abs(values[p]) * std::exp(double{u[i]} + double{v[j]});
        most = std::max(most, scaled - 1);
        if (perm[i] == static_cast<row_index>(j)) diagonal = scaled;
      }
      most = std::max(most, 1 - diagonal);
    }
    return most;
  }
};

template <class Value, class Real>
double worst_fault(routine_of<Value, Real>& routine) {
  double worst = 0;
  for (int seed = 0; seed < 40; ++seed) {
    call_of_ldperm<Value, Real> c(generate("random:n=50,degree=4,seed=" + std::to_string(seed)));
    REQUIRE(c.call(5, routine) == 0);
    worst = std::max(worst, c.fault());
  }
  return worst;
}

}  // namespace

TEST_CASE("ldperm: scales prove the product, in all types; singular matrices get a permutation") {
  const testing::environment weighted("GSOFA_MATCH", "weighted");
  CHECK(worst_fault<double, double>(gsofa_dldperm_dist) < 1e-8);
  CHECK(worst_fault<std::complex<double>, double>(gsofa_zldperm_dist) < 1e-8);
  CHECK(worst_fault<float, float>(gsofa_sldperm_dist) < 1e-4);
  // Column 0 is empty, rows 0 and 1 share column 1.
  call_of_ldperm<double, double> c(pattern{3, 3, {0, 1, 2, 3}, {1, 1, 2}});
  CHECK(c.call(5, gsofa_dldperm_dist) == 1);
  CHECK(std::ranges::is_permutation(c.perm, std::array<row_index, 3>{0, 1, 2}));
  CHECK(c.u == std::vector<double>(3, 0));
}

TEST_CASE(
    "ldperm: other jobs are SuperLU_DIST's, and job 5 unless requested; one line for errors") {
  void* const library = dlopen(GSOFA_SUPERLU_DIST, RTLD_LAZY | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  auto& original = *reinterpret_cast<routine_of<double, double>*>(dlsym(library, "dldperm_dist"));
  const auto said = [](int job, routine_of<double, double>& routine, const char* match,
                       double value = 1) {
    return superlu::end_of([&] {
      std::signal(SIGABRT, SIG_DFL);  // not the handler of the tests
      setenv("GSOFA_MATCH", match, 1);
      call_of_ldperm<double, double> c(pattern{2, 2, {0, 2, 4}, {0, 1, 0, 1}});
      c.values = {4, 1, value, 4};
      const int info = c.call(job, routine);
      for (const row_index i : c.perm) std::fprintf(stderr, "%d ", static_cast<int>(i));
      return info;
    });
  };
  // Packages without MC64 end the program here.
  for (const auto& [job, match] :
       {std::pair(1, "weighted"), {4, "weighted"}, {5, ""}, {5, "off"}}) {
    const superlu::ended ours = said(job, gsofa_dldperm_dist, match);
    const superlu::ended theirs = said(job, original, "");
    CHECK(ours.status == theirs.status);
    CHECK(ours.text == theirs.text);
  }
  CHECK(said(5, gsofa_dldperm_dist, "weighted").text == "0 1 ");
  CHECK(said(5, gsofa_dldperm_dist, "mc64").text ==
        "gsofa: dldperm_dist: GSOFA_MATCH is 'mc64': one of weighted, off\n");
  CHECK(said(5, gsofa_dldperm_dist, "weighted", NAN).text ==
        "gsofa: dldperm_dist: row 1, column 2: the value is not a number\n");
}
