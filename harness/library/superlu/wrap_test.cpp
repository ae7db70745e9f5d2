// A program that is linked with -Wl,--wrap=symbfact,--wrap=get_perm_c_dist, as programs are that
// have SuperLU_DIST in an archive: both are those of libgsofa, which calls the program's own if the
// environment says so.
// Linked with a malloc that fails where a test wants it to, except under sanitizers.
#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <vector>

#include "harness/library/superlu/superlu_headers.hpp"
#include "harness/testing/processes.hpp"
#ifdef GSOFA_FAILING_MALLOC
#include "harness/testing/failing_malloc.hpp"
#endif

namespace {

using gsofa::testing::environment;
constexpr int_t of_the_program = -12345;
}  // namespace

// In another object: wrap_original.cpp.
int_t call_symbfact(superlu_dist_options_t* options, SuperMatrix* a,
                    gsofa::superlu::column_index* perm_c, int_t* etree, Glu_persist_t* persist,
                    Glu_freeable_t* lists);
void call_get_perm_c_dist(SuperMatrix* a, gsofa::superlu::column_index* perm_c);

namespace {

// A dense matrix of order 3 with a column next to it, numbered last, that shares the last row.
class caller {
 public:
  Glu_persist_t persist{};
  Glu_freeable_t lists{};

  caller() {
    set_default_options_dist(&options_);
    options_.PrintStat = NO;
    options_.superlu_relax = 1;
  }
  caller(const caller&) = delete;
  caller& operator=(const caller&) = delete;

  int_t call() {
    return call_symbfact(&options_, &a_, identity_.data(), etree_.data(), &persist, &lists);
  }
  [[nodiscard]] bool is_right(int_t status) const {
    // Two supernodes: columns 0 to 2 with rows 0 to 2, column 3 with row 3 and a segment from
    // row 2.
    return status == -4 && lists.xlsub[4] == 4 && persist.supno[4] == 1 && persist.xsup[1] == 3 &&
           lists.lsub[2] == 2 && lists.lsub[3] == 3 && lists.xusub[4] == 1 && lists.usub[0] == 2 &&
           lists.nnzLU == 11;
  }
  [[nodiscard]] bool is_untouched() const {
    return persist.xsup == nullptr && persist.supno == nullptr && lists.lsub == nullptr &&
           lists.xlsub == nullptr && lists.usub == nullptr && lists.xusub == nullptr;
  }
  void release() {
    symbfact_SubFree(&lists);
    superlu_free_dist(persist.xsup);
    superlu_free_dist(persist.supno);
  }

 private:
  std::vector<int_t> rows_{0, 1, 2, 0, 1, 2, 0, 1, 2, 2, 3}, begin_{0, 3, 6, 9}, end_{3, 6, 9, 11},
      etree_{1, 2, 3, 4};
  std::vector<gsofa::superlu::column_index> identity_{0, 1, 2, 3};
  NCPformat store_{11, nullptr, rows_.data(), begin_.data(), end_.data()};
  SuperMatrix a_{SLU_NCP, SLU_D, SLU_GE, 4, 4, &store_};
  superlu_dist_options_t options_{};
};

}  // namespace

TEST_CASE("--wrap=symbfact") {
  caller own;
  REQUIRE(own.is_right(own.call()));
  own.release();
  const environment off("GSOFA_SUPERLU", "off");
  CHECK(own.call() == of_the_program);
}

TEST_CASE("--wrap=get_perm_c_dist") {
  // Vertex 1 is the middle of a path: it is not first in an order without fill.
  std::vector<int_t> rows{0, 1, 0, 1, 2, 1, 2}, begin{0, 2, 5, 7};
  NCformat store{7, nullptr, rows.data(), begin.data()};
  SuperMatrix a{SLU_NC, SLU_D, SLU_GE, 3, 3, &store};
  std::vector<gsofa::superlu::column_index> perm_c(3, -1);
  call_get_perm_c_dist(&a, perm_c.data());
  CHECK(perm_c[0] + perm_c[1] + perm_c[2] == 3);
  CHECK(perm_c[1] > 0);
  const environment off("GSOFA_SUPERLU", "off");
  call_get_perm_c_dist(&a, perm_c.data());
  CHECK(perm_c[0] == of_the_program);
}

#ifdef GSOFA_FAILING_MALLOC
namespace {

int status_of_process(const std::function<int()>& body) {
  const int status = gsofa::testing::end_of(body).status;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

enum : int { right = 10, refused = 20, never_failed = 30, wrong = 40, ended_by_superlu = 255 };

// What a process gets whose allocations first to last fail.
int call_with(long first, long last, bool counts) {
  caller own;
  const long before = live_allocations();
  fail_allocations(first, last);
  const int_t status = own.call();
  const long made = allocations_made();
  fail_allocations(0, 0);
  if (status > 0) {
    const bool clean = own.is_untouched() && (!counts || live_allocations() == before);
    return clean ? refused : wrong;
  }
  if (!own.is_right(status)) return wrong;
  own.release();
  if (counts && live_allocations() != before) return wrong;
  return made < first ? never_failed : right;
}

}  // namespace

// SuperLU_DIST itself ends the program if its own bookkeeping of 100 bytes finds no memory.
TEST_CASE("where memory is short symbfact writes nothing, keeps nothing and returns bytes") {
  const environment forgets("GSOFA_SUPERLU_KEEP", "0");
  caller warm;
  REQUIRE(warm.is_right(warm.call()));
  warm.release();
  for (const bool goes_on : {false, true}) {
    CAPTURE(goes_on);
    std::vector<long> times(256);
    int end = 0;
    for (long k = 1; end != never_failed; ++k) {
      CAPTURE(k);
      const long last = goes_on ? std::numeric_limits<long>::max() : k;
      end = status_of_process([&] { return call_with(k, last, true); });
      CHECK((end == right || end == refused || end == never_failed || end == ended_by_superlu));
      ++times[static_cast<std::size_t>(end)];
      REQUIRE(k < 10000);
    }
    CHECK(times[refused] > 20);
    CHECK(times[ended_by_superlu] == 1);
  }
}

TEST_CASE("where memory is short while ranks share a result, a call ends with it or with bytes") {
  const environment shares("GSOFA_SUPERLU_SHARE", "1");
  const environment ranks("OMPI_COMM_WORLD_LOCAL_SIZE", "2");
  int end = 0;
  for (long k = 1; end != never_failed; ++k) {
    CAPTURE(k);
    end = status_of_process([&] { return call_with(k, k, false); });
    CHECK((end == right || end == refused || end == never_failed || end == ended_by_superlu));
    REQUIRE(k < 10000);
  }
}
#endif
