// A program that is linked with -Wl,--wrap=symbfact, as one is that has SuperLU_DIST in an archive:
// symbfact is that of libgsofa, and the one that the program has is asked where the environment
// says so.
#include <doctest/doctest.h>

#include <cstdlib>
#include <vector>

#include "harness/superlu/superlu_headers.hpp"

namespace {
constexpr int_t of_the_program = -12345;
}

// In another object: wrap_original.cpp.
int_t call_symbfact(superlu_dist_options_t* options, SuperMatrix* a,
                    gsofa::superlu::column_index* perm_c, int_t* etree, Glu_persist_t* persist,
                    Glu_freeable_t* lists);

TEST_CASE("--wrap=symbfact") {
  // A dense matrix of order 3 is one supernode.
  std::vector<int_t> rows{0, 1, 2, 0, 1, 2, 0, 1, 2};
  std::vector<int_t> begin{0, 3, 6};
  std::vector<int_t> end{3, 6, 9};
  std::vector<gsofa::superlu::column_index> identity{0, 1, 2};
  std::vector<int_t> etree{1, 2, 3};
  NCPformat store{9, nullptr, rows.data(), begin.data(), end.data()};
  SuperMatrix a{SLU_NCP, SLU_D, SLU_GE, 3, 3, &store};
  superlu_dist_options_t options;
  set_default_options_dist(&options);
  options.PrintStat = NO;
  Glu_persist_t persist{};
  Glu_freeable_t lists{};
  const auto call = [&] {
    return call_symbfact(&options, &a, identity.data(), etree.data(), &persist, &lists);
  };
  REQUIRE(call() == -3);
  CHECK(persist.supno[3] == 0);
  CHECK(persist.xsup[1] == 3);
  CHECK(lists.nnzLU == 9);
  symbfact_SubFree(&lists);
  superlu_free_dist(persist.xsup);
  superlu_free_dist(persist.supno);
  setenv("GSOFA_SUPERLU", "off", 1);
  CHECK(call() == of_the_program);
  unsetenv("GSOFA_SUPERLU");
}
