// dldperm_dist, sldperm_dist and zldperm_dist of libgsofa. Scales that bound all entries by 1 and
// make the permuted diagonal 1 prove that no permutation has a larger product.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <csignal>
#include <cstdint>
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

#define GSOFA_DECLARE(routine, Value, Real) \
  extern "C" int routine(int, int, int_t, int_t*, int_t*, Value*, row_index*, Real*, Real*)
GSOFA_DECLARE(gsofa_dldperm_dist, double, double);
GSOFA_DECLARE(gsofa_sldperm_dist, float, float);
GSOFA_DECLARE(gsofa_zldperm_dist, std::complex<double>, double);

namespace {

// Columns with magnitudes over six orders, and what a call gives.
template <class Value, class Real>
struct job {
  std::vector<int_t> begin, rows;
  std::vector<Value> values;
  std::vector<row_index> perm;
  std::vector<Real> u, v;

  job(const pattern& a, std::uint64_t seed)
      : perm(at(a.n_rows), -1), u(perm.size(), -1), v(perm.size(), -1) {
    const pattern t = transpose(a);
    begin.assign(t.row_ptr.begin(), t.row_ptr.end());
    rows.assign(t.col_idx.begin(), t.col_idx.end());
    random_source random(seed);
    for (std::size_t p = 0; p < rows.size(); ++p) {
      const auto size = static_cast<Real>(std::exp2(static_cast<double>(random.below(20)) - 10));
      values.emplace_back(random.below(2) == 0 ? size : -size);
      if constexpr (!std::is_same_v<Value, Real>) values.back() *= Value(0.6, 0.8);
    }
  }
  int call(int kind,
           int (*routine)(int, int, int_t, int_t*, int_t*, Value*, row_index*, Real*, Real*)) {
    return routine(kind, static_cast<int>(perm.size()), static_cast<int_t>(rows.size()),
                   begin.data(), rows.data(), values.data(), perm.data(), u.data(), v.data());
  }
  [[nodiscard]] bool permutes() const {
    std::vector<row_index> sorted = perm;
    std::ranges::sort(sorted);
    for (std::size_t k = 0; k < sorted.size(); ++k) {
      if (sorted[k] != static_cast<row_index>(k)) return false;
    }
    return true;
  }
  // The largest distance of a scaled entry of the permuted diagonal from 1, and the excess over 1.
  [[nodiscard]] double fault() const {
    double most = 0;
    for (std::size_t j = 0; j < perm.size(); ++j) {
      bool has_diagonal = false;
      for (auto p = static_cast<std::size_t>(begin[j]); p < static_cast<std::size_t>(begin[j + 1]);
           ++p) {
        const auto i = static_cast<std::size_t>(rows[p]);
        const double scaled = std::abs(values[p]) * std::exp(double{u[i]} + double{v[j]});
        most = std::max(most, scaled - 1);
        if (perm[i] != static_cast<row_index>(j)) continue;
        has_diagonal = true;
        most = std::max(most, std::abs(scaled - 1));
      }
      if (!has_diagonal) return 1;
    }
    return most;
  }
};

template <class Value, class Real>
void check_all(int (*routine)(int, int, int_t, int_t*, int_t*, Value*, row_index*, Real*, Real*),
               double tolerance) {
  int regular = 0;
  for (std::uint64_t k = 0; k < 60; ++k) {
    CAPTURE(k);
    job<Value, Real> j(generate("random:n=40,degree=4,seed=" + std::to_string(k)), k);
    const int info = j.call(5, routine);
    REQUIRE((info == 0 || info == 1));
    CHECK(j.permutes());
    if (info == 0) CHECK(j.fault() < tolerance);
    regular += info == 0;
  }
  CHECK(regular > 20);
}

}  // namespace

TEST_CASE("ldperm: scales prove the product, in all types") {
  const testing::environment weighted("GSOFA_MATCH", "weighted");
  check_all(gsofa_dldperm_dist, 1e-8);
  check_all(gsofa_zldperm_dist, 1e-8);
  check_all(gsofa_sldperm_dist, 1e-4);
}

TEST_CASE("ldperm: a structurally singular matrix gets 1, a permutation and no scales") {
  const testing::environment weighted("GSOFA_MATCH", "weighted");
  // Column 0 is empty, row 0 and row 1 share column 1.
  job<double, double> j(pattern{3, 3, {0, 1, 2, 3}, {1, 1, 2}}, 1);
  CHECK(j.call(5, gsofa_dldperm_dist) == 1);
  CHECK(j.permutes());
  CHECK(j.u == std::vector<double>(3, 0));
}

TEST_CASE(
    "ldperm: other jobs are SuperLU_DIST's, and job 5 unless requested; bad input ends with one "
    "line") {
  void* const library = dlopen(GSOFA_SUPERLU_DIST, RTLD_LAZY | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  const auto original =
      reinterpret_cast<decltype(&gsofa_dldperm_dist)>(dlsym(library, "dldperm_dist"));
  const auto said = [](int kind, decltype(original) routine, const char* match, double third = 1) {
    return superlu::end_of([&] {
      std::signal(SIGABRT, SIG_DFL);  // not the handler of the tests
      setenv("GSOFA_MATCH", match, 1);
      job<double, double> j(pattern{2, 2, {0, 2, 4}, {0, 1, 0, 1}}, 2);
      j.values[2] = third;
      const int info = j.call(kind, routine);
      for (const row_index i : j.perm) std::fprintf(stderr, "%d ", static_cast<int>(i));
      return info;
    });
  };
  // Packages without MC64 end the program here.
  for (const int kind : {1, 4, 5}) {
    const superlu::ended ours = said(kind, gsofa_dldperm_dist, kind == 5 ? "" : "weighted");
    const superlu::ended theirs = said(kind, original, "");
    CHECK(ours.status == theirs.status);
    CHECK(ours.text == theirs.text);
  }
  CHECK(said(5, gsofa_dldperm_dist, "off").text == said(5, original, "").text);
  CHECK(said(5, gsofa_dldperm_dist, "weighted").text == "0 1 ");
  CHECK(said(5, gsofa_dldperm_dist, "mc64").text ==
        "gsofa: dldperm_dist: GSOFA_MATCH is 'mc64': one of weighted, off\n");
  CHECK(said(5, gsofa_dldperm_dist, "weighted", NAN).text ==
        "gsofa: dldperm_dist: row 1, column 2: the value is not a number\n");
}
