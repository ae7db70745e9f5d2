#include "harness/run/distribute.hpp"

#include <doctest/doctest.h>

#include "common/shared_counter.hpp"
#include "harness/testing/fake_variant.hpp"
#include "reference/worked_example.hpp"

using namespace gsofa;

namespace {

// What one of two ranks has: the even rows.
result even_rows(const result& whole) {
  result mine = whole;
  auto& rows = mine.pattern_rows.emplace();
  for (pattern* p : {&mine.l, &mine.u}) {
    const pattern& from = p == &mine.l ? whole.l : whole.u;
    p->row_ptr.assign(1, 0);
    p->col_idx.clear();
    for (index_t i = 0; i < from.n_rows; ++i) {
      if (i % 2 == 0) p->col_idx.insert(p->col_idx.end(), from.row(i).begin(), from.row(i).end());
      p->row_ptr.push_back(static_cast<offset_t>(p->col_idx.size()));
    }
  }
  for (index_t i = 0; i < whole.u.n_rows; i += 2) rows.push_back(i);
  return mine;
}

std::string fault(const result& mine, const result& whole) {
  return rank_pattern_fault(mine, whole.l_row_counts, whole.u_row_counts, whole.row_digests);
}

}  // namespace

TEST_CASE("the rows of one rank are verified against the counts and digests of the whole") {
  const pattern a = reference::worked_example();
  const result whole = testing::right_result(a);
  const result good = even_rows(whole);
  CHECK(fault(good, whole) == "");

  result bad = good;
  bad.pattern_rows->pop_back();
  CHECK(fault(bad, whole) == "entries in rows that are not listed");
  bad = good;
  bad.pattern_rows->push_back(1);
  CHECK(fault(bad, whole).starts_with("row 1 of U"));
  bad = good;
  const auto last = static_cast<std::size_t>(bad.l.row_ptr.back()) - 1;
  bad.l.col_idx[last] -= 1;
  CHECK(fault(bad, whole) != "");
  bad = good;
  bad.u.col_idx[0] = 1;
  CHECK(fault(bad, whole) != "");
  result other = whole;
  ++other.u_row_counts[4];
  CHECK(fault(good, other).find("row 4") != std::string::npos);
  other = whole;
  ++other.row_digests[2];
  CHECK(fault(good, other) == "row 2 of the pattern has another digest than its row");
  // A row on another rank is not this rank's matter.
  other = whole;
  ++other.row_digests[3];
  CHECK(fault(good, other) == "");
}

TEST_CASE("a job of one rank needs no MPI") {
  mpi_context& j = mpi_context::world();
  CHECK(j.ranks() == 1);
  CHECK(j.root());
  CHECK(j.ranks_per_node() == std::vector<int>{1});
  CHECK(rank_map(j) == "1");
  CHECK_THROWS_AS(j.collective_try([] { throw input_error("bad"); }), input_error);
  CHECK(root_only([] { return exit_code::unavailable; }) == exit_code::unavailable);
  const auto parts = j.gather(std::vector<int>{1, 2});
  CHECK(parts == std::vector<std::vector<int>>{{1, 2}});
  shared_counter counter(j);
  CHECK(counter.fetch_add(2) == 0);
  CHECK(counter.fetch_add(1) == 2);
  CHECK_FALSE(counter.raised());
  counter.raise();
  CHECK(counter.raised());
  counter.reset();
  CHECK(counter.fetch_add(1) == 0);
  CHECK_FALSE(counter.raised());
}
