// Compares symbfact of libgsofa with that of SuperLU_DIST, with and without relaxed supernodes:
// equal supernodes, pointers and counts, and lists with equal elements. SuperLU_DIST lists elements
// in the order of its search, libgsofa ascending. SuperLU_DIST reads the most columns of a
// supernode once a process ($SUPERLU_MAXSUP).
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "common/matrix_file.hpp"
#include "common/preprocess.hpp"
#include "harness/check/test_patterns.hpp"
#include "harness/library/superlu/comparison.hpp"
#include "harness/library/superlu/superlu_headers.hpp"
#include "harness/library/superlu/test_processes.hpp"
#include "reference/row_union.hpp"

using namespace gsofa;
using superlu::ended;
using superlu::original;
using superlu::output;

namespace {

// A and its elimination tree as pdgssvx hands them to symbfact.
class input : public superlu::call_input {
 public:
  input(const pattern& a, const std::vector<index_t>& parent)
      : call_input(transpose(a).row_ptr, transpose(a).col_idx, parent) {}
};

output run(decltype(symbfact)& routine, input& in, index_t n, int relax) {
  output out = superlu::call(routine, in, relax);
  CHECK((n == 1 ? out.status == 0 : out.status < 0));
  CHECK(out.memory > 0);
  return out;
}

// The pattern of A^T A, whose elimination tree is the column elimination tree of A.
pattern normal_equations(const pattern& a) {
  const pattern columns = transpose(a);
  triplets t;
  t.n_rows = t.n_cols = a.n_cols;
  for (index_t i = 0; i < a.n_rows; ++i) {
    for (const index_t j : a.row(i)) {
      for (const index_t k : a.row(i)) {
        t.rows.push_back(j);
        t.cols.push_back(k);
      }
    }
  }
  return from_triplets(t, duplicates::merge);
}

std::vector<named_pattern> patterns() {
  std::vector<named_pattern> out = special_patterns();
  for (std::uint64_t k = 0; k < 300; ++k) out.push_back(random_pattern(47, k));
  return out;
}

}  // namespace

TEST_CASE("the arrays are those of SuperLU_DIST") {
  std::size_t compared = 0;
  std::size_t relaxed = 0;
  std::size_t in_another_order = 0;
  for (const auto& [name, given] : patterns()) {
    CAPTURE(name);
    for (const bool columns : {false, true}) {
      CAPTURE(columns);
      const auto tree_of = [&](const pattern& a) {
        return elimination_tree(symmetrized(columns ? normal_equations(a) : a, diagonal::drop));
      };
      const auto order = postorder(tree_of(given));
      const pattern a = permute(given, order, order);
      input in(a, tree_of(a));
      for (const int relax : {1, 3, 20}) {
        CAPTURE(relax);
        const output expected = run(original(), in, a.n_rows, relax);
        const output found = run(gsofa_symbfact, in, a.n_rows, relax);
        CHECK(expected.blocks_lead);
        CHECK(found.blocks_lead);
        CHECK(found.others_empty);
        CHECK(found == expected);
        CHECK(found.unsorted == 0);
        in_another_order += expected.unsorted > 0;
        ++compared;
        relaxed += relax > 1 && expected.xsup != run(original(), in, a.n_rows, 1).xsup;
      }
    }
  }
  CHECK(compared > 1500);
  CHECK(relaxed > 500);
  CHECK(in_another_order > 500);
}

TEST_CASE("order 0 has an answer") {
  superlu::call_input in(std::vector<std::int64_t>{0}, {}, {});
  const output expected = superlu::call(original(), in, 1);
  const output found = superlu::call(gsofa_symbfact, in, 1);
  CHECK(found == expected);
  CHECK(found.status == expected.status);
}

TEST_CASE("a pattern that comes again gives the same arrays, a changed one its own") {
  const auto tree_of = [](const pattern& a) {
    return elimination_tree(symmetrized(a, diagonal::drop));
  };
  std::size_t changed = 0;
  for (std::uint64_t k = 0; k < 60; ++k) {
    const pattern given = random_pattern(49, k).a;
    const index_t n = given.n_rows;
    const auto order = postorder(tree_of(given));
    const pattern a = permute(given, order, order);
    input in(a, tree_of(a));
    const output first = run(gsofa_symbfact, in, n, 4);
    CHECK(run(gsofa_symbfact, in, n, 4) == first);
    CHECK(run(gsofa_symbfact, in, n, 1) == run(original(), in, n, 1));
    CHECK(run(gsofa_symbfact, in, n, 4) == first);
    // Without one entry off the diagonal, the tree as it was.
    for (index_t i = 0; i < n; ++i) {
      pattern b = a;
      const auto row = a.row(i);
      const auto off = std::ranges::find_if(row, [&](index_t j) { return j != i; });
      if (off == row.end()) continue;
      b.col_idx.erase(b.col_idx.begin() + (a.row_ptr[at(i)] + (off - row.begin())));
      for (index_t r = i; r < n; ++r) --b.row_ptr[at(r) + 1];
      input less(b, tree_of(a));
      const output second = run(gsofa_symbfact, less, n, 4);
      CHECK(second == run(original(), less, n, 4));
      changed += second != first;
      break;
    }
  }
  CHECK(changed > 10);
}

ended call_in_a_process(const pattern& a, const std::vector<index_t>& parent, const char* mode) {
  return superlu::end_of([&] {
    setenv("GSOFA_SUPERLU", mode, 1);
    input in(a, parent);
    return superlu::call(gsofa_symbfact, in, 60).status < 0 ? 0 : 3;
  });
}

TEST_CASE("what is no input ends the program with one line") {
  const pattern diagonal{3, 3, {0, 1, 2, 3}, {0, 1, 2}};
  const pattern lacks_one{3, 3, {0, 2, 3, 4}, {0, 1, 2, 2}};
  const std::vector<index_t> roots{-1, -1, -1};
  const std::vector<index_t> path{1, 2, -1};
  const ended fine = call_in_a_process(diagonal, roots, "on");
  CHECK(fine.status == 0);
  CHECK(fine.text.empty());
  const ended lacks = call_in_a_process(lacks_one, path, "on");
  CHECK(lacks.status != 0);
  CHECK(lacks.text == "gsofa: symbfact: column 1 has no entry on the diagonal\n");
  const ended unknown = call_in_a_process(diagonal, roots, "maybe");
  CHECK(unknown.status != 0);
  CHECK(unknown.text == "gsofa: symbfact: GSOFA_SUPERLU is 'maybe': one of on, off, verbose\n");
}

TEST_CASE("the environment says which symbfact it is") {
  const pattern a = random_pattern(51, 1).a;
  const auto tree = elimination_tree(symmetrized(a, diagonal::drop));
  const auto order = postorder(tree);
  const pattern p = permute(a, order, order);
  const auto parent = elimination_tree(symmetrized(p, diagonal::drop));
  const ended mine = call_in_a_process(p, parent, "verbose");
  CHECK(mine.status == 0);
  CHECK(mine.text.starts_with("gsofa: symbfact: n "));
  const ended theirs = call_in_a_process(p, parent, "off");
  CHECK(theirs.status == 0);
  CHECK(theirs.text.find("gsofa") == std::string::npos);
  input in(p, parent);
  const testing::environment off("GSOFA_SUPERLU", "off");
  const output given = run(gsofa_symbfact, in, p.n_rows, 20);
  CHECK(given == run(original(), in, p.n_rows, 20));
}

TEST_CASE("the processes of a node find the arrays once") {
  constexpr int rounds = 40;
  const std::string text = superlu::said_by_job_of_three([&](const auto& wait_for_all) {
    bool same = true;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const pattern given = random_pattern(50, round).a;
      const auto tree = elimination_tree(symmetrized(given, diagonal::drop));
      const auto order = postorder(tree);
      const pattern a = permute(given, order, order);
      input in(a, elimination_tree(symmetrized(a, diagonal::drop)));
      wait_for_all();
      same = run(gsofa_symbfact, in, a.n_rows, 4) == run(original(), in, a.n_rows, 4) && same;
      wait_for_all();
    }
    return same;
  });
  CAPTURE(text);
  CHECK(superlu::times_in(text, "symbfact: n ") == 3 * rounds);
  CHECK(superlu::times_in(text, "by another process") == 2 * rounds);
}

// $GSOFA_MATRICES names another folder of Matrix Market files.
TEST_CASE("the arrays are those of SuperLU_DIST on real matrices") {
  const char* given = std::getenv("GSOFA_MATRICES");
  const std::filesystem::path folder =
      given != nullptr ? given : GSOFA_SOURCE_DIR "/experiments/matrices";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().find(".mtx") != std::string::npos) {
      files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  std::size_t compared = 0;
  for (const auto& file : files) {
    CAPTURE(file.string());
    const pattern raw = read_matrix_file(file);
    if (raw.n_rows != raw.n_cols) continue;
    const char* const order = "metis";
    const prepare_options options{.match = match_auto, .order = order, .threads = 1};
    const ordered_pattern found = match_and_order(raw, options);
    if (found.matching.structural_rank < raw.n_rows) continue;
    // By the tree of A + A^T and, where that is small, by that of A^T A.
    for (const bool columns : {false, true}) {
      CAPTURE(columns);
      pattern a = found.matching.matched.a;
      offset_t pairs = 0;
      for (index_t i = 0; i < a.n_rows; ++i) {
        pairs += static_cast<offset_t>(a.row(i).size() * a.row(i).size());
      }
      if (columns && pairs > 20 * a.nnz()) continue;
      if (columns) {
        const pattern tree = symmetrized(normal_equations(a), diagonal::drop);
        const auto by_tree = postorder(elimination_tree(tree));
        a = permute(a, by_tree, by_tree);
      }
      const pattern graph = columns ? normal_equations(a) : a;
      input in(a, elimination_tree(symmetrized(graph, diagonal::drop)));
      for (const int relax : {1, 60}) {
        CAPTURE(relax);
        const output mine = run(gsofa_symbfact, in, a.n_rows, relax);
        const bool same = mine == run(original(), in, a.n_rows, relax);
        CHECK(same);
        ++compared;
        if (given != nullptr) {
          std::printf("%s relax %d, tree of %s: %zu supernodes, %lld entries, %s\n",
                      file.filename().c_str(), relax, columns ? "A^T A" : "A + A^T",
                      mine.rows.size(), static_cast<long long>(mine.entries),
                      same ? "the same" : "DIFFERENT");
          std::fflush(stdout);
        }
      }
    }
  }
  CHECK(compared >= 20);
}

TEST_CASE("without relaxed supernodes the lists hold the fill") {
  for (std::uint64_t k = 0; k < 100; ++k) {
    const auto p = random_pattern(48, k);
    CAPTURE(p.name);
    const index_t n = p.a.n_rows;
    const auto order = postorder(elimination_tree(symmetrized(p.a, diagonal::drop)));
    const pattern a = permute(p.a, order, order);
    input in(a, elimination_tree(symmetrized(a, diagonal::drop)));
    const output found = run(gsofa_symbfact, in, n, 1);
    const pattern filled = reference::row_union(a);
    for (index_t i = 0; i < n; ++i) {
      for (const index_t j : filled.row(i)) {
        const int_t s = found.supno[at(i > j ? j : i)];
        if (i >= j) {
          CHECK(std::ranges::binary_search(found.rows[at(s)], i));
        } else if (s != found.supno[at(j)]) {
          const auto& of = found.segments[at(j)];
          const auto after = std::ranges::upper_bound(of, i);
          REQUIRE(after != of.begin());
          CHECK(found.supno[at(*(after - 1))] == s);
        }
      }
    }
  }
}
