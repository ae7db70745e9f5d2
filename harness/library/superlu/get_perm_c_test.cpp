// Compares get_perm_c_dist of libgsofa with that of SuperLU_DIST.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/generators.hpp"
#include "common/preprocess.hpp"
#include "gsofa/gsofa.hpp"
#include "harness/check/test_patterns.hpp"
#include "harness/library/superlu/column_order.hpp"
#include "harness/library/superlu/comparison.hpp"
#include "harness/library/superlu/superlu_headers.hpp"
#include "harness/library/superlu/test_processes.hpp"

using namespace gsofa;
using superlu::column_index;

namespace {

// The columns of A as pdgssvx hands them to get_perm_c_dist.
class columns {
 public:
  explicit columns(const pattern& a) {
    const pattern t = transpose(a);
    begin_.assign(t.row_ptr.begin(), t.row_ptr.end());
    rows_.assign(t.col_idx.begin(), t.col_idx.end());
    store_ = {static_cast<int_t>(rows_.size()), nullptr, rows_.data(), begin_.data()};
    const auto n = static_cast<int_t>(a.n_rows);
    matrix_ = {SLU_NC, SLU_D, SLU_GE, n, n, &store_};
  }
  columns(const columns&) = delete;
  columns& operator=(const columns&) = delete;
  SuperMatrix& matrix() { return matrix_; }
  int_t& row(std::size_t k) { return rows_[k]; }

  // perm_c
  std::vector<column_index> order(decltype(get_perm_c_dist)& routine, int spec) {
    std::vector<column_index> out(static_cast<std::size_t>(matrix_.ncol), -1);
    routine(0, spec, &matrix_, out.data());
    return out;
  }

 private:
  std::vector<int_t> begin_, rows_;
  NCformat store_{};
  SuperMatrix matrix_{};
};

// Of A + A^T. The interface of the library has another elimination_tree().
std::vector<index_t> tree_of(const pattern& a) {
  const pattern sum = symmetrized(a, diagonal::drop);
  return elimination_tree(pattern_view(sum));
}

std::vector<column_index> inverse(const std::vector<std::int32_t>& order) {
  std::vector<column_index> out(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    out[static_cast<std::size_t>(order[k])] = static_cast<column_index>(k);
  }
  return out;
}

}  // namespace

TEST_CASE("perm_c is the order of libgsofa for A + A^T, of SuperLU_DIST elsewhere") {
  int others = 0;
  for (std::uint64_t k = 0; k < 60; ++k) {
    CAPTURE(k);
    const pattern a = random_pattern(61, k).a;
    columns c(a);
    order_options o;
    o.device = compute_device::cpu;
    o.purpose.kind = factorization_kind::distributed;
    const pattern t = transpose(a);
    for (const int spec : {METIS_AT_PLUS_A, MMD_AT_PLUS_A}) {
      CAPTURE(spec);
      const auto own = c.order(superlu::original_order(), spec);
      {
        const testing::environment automatic("GSOFA_ORDER", "automatic");
        const auto found = c.order(gsofa_get_perm_c_dist, spec);
        CHECK(found == inverse(order(csc_view{a.n_rows, t.row_ptr, t.col_idx}, o).permutation));
        others += found != own;
      }
      {
        const testing::environment off("GSOFA_ORDER", "off");
        CHECK(c.order(gsofa_get_perm_c_dist, spec) == own);
      }
      const testing::environment off("GSOFA_SUPERLU", "off");
      CHECK(c.order(gsofa_get_perm_c_dist, spec) == own);
    }
    for (const int spec : {NATURAL, MMD_ATA, COLAMD}) {
      CAPTURE(spec);
      CHECK(c.order(gsofa_get_perm_c_dist, spec) == c.order(superlu::original_order(), spec));
    }
  }
  CHECK(others > 80);
}

TEST_CASE("without a setting the order is the automatic one for distributed factorizations") {
  const pattern a = generate("grid7:nx=18,ny=18,nz=18");  // symmetric
  columns c(a);
  const auto dissects = [&](const char* factorizations) {
    const testing::environment number("GSOFA_FACTORIZATIONS", factorizations);
    order_options o;
    o.device = compute_device::cpu;
    o.purpose = {.factorizations = std::atoi(factorizations),
                 .kind = factorization_kind::distributed};
    const pattern_order expected = order(csc_view{a.n_rows, a.row_ptr, a.col_idx}, o);
    CHECK(c.order(gsofa_get_perm_c_dist, METIS_AT_PLUS_A) == inverse(expected.permutation));
    return expected.order.starts_with("cpu_nested_dissection");
  };
  CHECK_FALSE(dissects("1"));
  CHECK(dissects("1000"));
}

TEST_CASE("a column without an entry on the diagonal is ordered") {
  // Rows 0 and 1 are swapped.
  columns c(pattern{3, 3, {0, 1, 2, 3}, {1, 0, 2}});
  auto found = c.order(gsofa_get_perm_c_dist, METIS_AT_PLUS_A);
  std::ranges::sort(found);
  CHECK(found == std::vector<column_index>{0, 1, 2});
}

TEST_CASE("symbfact fills the same arrays for an order of libgsofa") {
  for (std::uint64_t k = 0; k < 60; ++k) {
    CAPTURE(k);
    const pattern a = random_pattern(62, k).a;
    columns c(a);
    auto perm_c = c.order(gsofa_get_perm_c_dist, METIS_AT_PLUS_A);
    std::vector<std::int32_t> order(perm_c.size());
    for (std::size_t j = 0; j < perm_c.size(); ++j) {
      order[static_cast<std::size_t>(perm_c[j])] = static_cast<std::int32_t>(j);
    }
    // As sp_colorder of SuperLU_DIST: the order, then a postorder.
    pattern p = permute(a, order, order);
    const auto post = postorder(tree_of(p));
    p = permute(p, post, post);
    const pattern t = transpose(p);
    superlu::call_input in(t.row_ptr, t.col_idx, tree_of(p));
    CHECK(superlu::call(gsofa_symbfact, in, 8) == superlu::call(superlu::original(), in, 8));
  }
}

TEST_CASE("$GSOFA_ORDER names the method; anything else ends the program with one line") {
  columns c(random_pattern(63, 5).a);
  const auto said = [&](const char* name) {
    return superlu::end_of([&] {
      setenv("GSOFA_ORDER", name, 1);
      setenv("GSOFA_SUPERLU", "verbose", 1);
      c.order(gsofa_get_perm_c_dist, METIS_AT_PLUS_A);
      return 0;
    });
  };
  for (const auto& [name, method] : std::array<std::array<const char*, 2>, 3>{
           {{"amf", "(amf"},
            {"cpu_nested_dissection", "(cpu_nested_dissection"},
            {"", "entries"}}}) {
    const superlu::ended fine = said(name);
    CAPTURE(fine.text);
    CHECK(fine.status == 0);
    CHECK(fine.text.starts_with("gsofa: get_perm_c_dist: n "));
    CHECK(fine.text.find(method) != std::string::npos);
    CHECK(superlu::times_in(fine.text, "\n") == 1);
  }
  const superlu::ended unknown = said("metsi");
  CHECK(unknown.status != 0);
  CHECK(
      unknown.text ==
      "gsofa: get_perm_c_dist: GSOFA_ORDER: order: 'metsi' is none of automatic, metis, amd, amf, "
      "colamd, natural, given, cpu_nested_dissection, gpu_nested_dissection, tournament, or off\n");
  c.row(0) = -3;
  const superlu::ended outside = said("");
  CHECK(outside.status != 0);
  CHECK(outside.text.starts_with("gsofa: get_perm_c_dist: row -3 is outside [0, "));
}

TEST_CASE("a matrix with enough entries for a device gets an order with and without a device") {
  constexpr index_t n = 1001;
  pattern dense{n, n, {0}, {}};
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = 0; j < n; ++j) dense.col_idx.push_back(j);
    dense.row_ptr.push_back(static_cast<offset_t>(dense.col_idx.size()));
  }
  columns c(dense);
  auto found = c.order(gsofa_get_perm_c_dist, METIS_AT_PLUS_A);
  std::ranges::sort(found);
  CHECK(found.front() == 0);
  CHECK(found.back() == n - 1);
  CHECK(std::ranges::adjacent_find(found) == found.end());
}

TEST_CASE("the processes of a node find an order once") {
  constexpr int rounds = 20;
  std::vector<std::vector<column_index>> expected;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    columns c(random_pattern(64, round).a);
    expected.push_back(c.order(gsofa_get_perm_c_dist, METIS_AT_PLUS_A));
  }
  const std::string text = superlu::said_by_job_of_three([&](const auto& wait_for_all) {
    bool same = true;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      columns c(random_pattern(64, round).a);
      wait_for_all();
      same = c.order(gsofa_get_perm_c_dist, METIS_AT_PLUS_A) == expected[round] && same;
      wait_for_all();
    }
    return same;
  });
  CAPTURE(text);
  CHECK(superlu::times_in(text, "get_perm_c_dist: n ") == 3 * rounds);
  CHECK(superlu::times_in(text, "by another process") == 2 * rounds);
}

TEST_CASE("an order comes back from memory as it was, for its own key and columns") {
  const superlu::column_order own{7, {2, 0, 1}, "a test"};
  const std::string name = superlu::new_name();
  superlu::node_share finds(name, 1, {});
  superlu::node_share waits(name, 1, {});
  give_to(finds, own);
  const superlu::shared_bytes memory = waits.wait(std::chrono::seconds(1));
  const auto back = superlu::order_of_memory(memory, 7, 3);
  REQUIRE(back);
  CHECK(back->permutation == own.permutation);
  CHECK(back->how == own.how);
  CHECK(!superlu::order_of_memory(memory, 8, 3));
  CHECK(!superlu::order_of_memory(memory, 7, 2));
  CHECK(!superlu::order_of_memory(memory, 7, 4));
  CHECK(!superlu::order_of_memory({}, 7, 3));
}
