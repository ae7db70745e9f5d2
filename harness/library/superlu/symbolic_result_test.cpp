// Results in memory of one process and in memory that several share.
#include "harness/library/superlu/symbolic_result.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <string>
#include <vector>

using namespace gsofa::superlu;

namespace {

// A of order 2, dense, as symbfact is given it.
struct dense_question {
  std::vector<int_t> rows{0, 1, 0, 1}, begin{0, 2}, end{2, 4}, etree{1, 2};
  NCPformat store{4, nullptr, rows.data(), begin.data(), end.data()};
  SuperMatrix a{SLU_NCP, SLU_D, SLU_GE, 2, 2, &store};
  supernode_limits limits{60, 256};

  [[nodiscard]] question get() const { return {&a, etree.data(), limits}; }
};

symbolic_result result_of(const dense_question& q) {
  gsofa::supernodal_factors f;
  f.first_column = {0, 2};
  f.row_begin = {0, 2};
  f.rows = {0, 1};
  f.segment_begin = {0, 0, 0};
  return {q.get(), std::move(f), "a test"};
}

}  // namespace

TEST_CASE("a result comes back from memory as it was, and answers its question alone") {
  const dense_question q;
  const symbolic_result own = result_of(q);
  node_share finds("gsofa.test.result." + std::to_string(getpid()), 1, {});
  node_share waits("gsofa.test.result." + std::to_string(getpid()), 1, {});
  REQUIRE(!waits.finds());
  own.give_to(finds);
  const auto shared = symbolic_result::of_memory(waits.wait(std::chrono::seconds(1)));
  REQUIRE(shared);
  for (const symbolic_result* r : {&own, &*shared}) {
    CHECK(r->how() == "a test");
    CHECK(r->factors().supernodes() == 1);
    CHECK(std::vector(r->factors().rows.begin(), r->factors().rows.end()) == std::vector{0, 1});
    CHECK(r->factors().segments.empty());
    CHECK(r->answers(q.get()));
    dense_question other;
    other.etree[0] = 2;
    CHECK(!r->answers(other.get()));
    dense_question narrower;
    narrower.limits[1] = 4;
    CHECK(!r->answers(narrower.get()));
    dense_question sparser;
    sparser.end[1] = 3;
    CHECK(!r->answers(sparser.get()));
    dense_question swapped;
    swapped.rows = {1, 0, 0, 1};
    swapped.store.rowind = swapped.rows.data();
    CHECK(!r->answers(swapped.get()));
  }
  CHECK(!symbolic_result::of_memory({}));
}
