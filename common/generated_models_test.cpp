#include "common/generated_patterns.hpp"
#include "common/generators.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/preprocess.hpp"

using namespace gsofa;
using namespace gsofa::testing;

namespace {

// Entries of the Cholesky factor of a symmetric pattern, by merging each column into its parent.
offset_t fill_of(const pattern& a) {
  std::vector<std::set<index_t>> columns(static_cast<std::size_t>(a.n_rows));
  offset_t entries = 0;
  for (index_t k = 0; k < a.n_rows; ++k) {
    std::set<index_t>& column = columns[static_cast<std::size_t>(k)];
    for (const index_t j : a.row(k)) {
      if (j > k) column.insert(j);
    }
    entries += static_cast<offset_t>(column.size());
    if (column.empty()) continue;
    std::set<index_t>& parent = columns[static_cast<std::size_t>(*column.begin())];
    parent.insert(std::next(column.begin()), column.end());
  }
  return entries;
}

}  // namespace

TEST_CASE("a dissected grid is the grid in an order of little fill") {
  const pattern plain = generate("grid7:nx=13,ny=11,nz=12");
  const pattern a = generate("dissected:nx=13,ny=11,nz=12");
  CHECK(a.n_rows == plain.n_rows);
  CHECK(a.nnz() == plain.nnz());
  CHECK(transpose(a) == a);
  const auto degrees = [](const pattern& p) {
    std::multiset<std::size_t> all;
    for (index_t i = 0; i < p.n_rows; ++i) all.insert(p.row(i).size());
    return all;
  };
  CHECK(degrees(a) == degrees(plain));
  CHECK(3 * fill_of(a) < 2 * fill_of(plain));
  // One direction of every edge, and blocks of unknowns.
  const pattern one_way = generate("dissected:nx=13,ny=11,nz=12,oneway=1");
  CHECK(2 * (one_way.nnz() - one_way.n_rows) == a.nnz() - a.n_rows);
  CHECK(generate("dissected:nx=6,stencil=27,dof=3").nnz() == 9 * generate("grid27:nx=6").nnz());
  CHECK(generate("dissected:nx=1").n_rows == 1);
  CHECK_THROWS_AS(static_cast<void>(generate("dissected:nx=1300")), input_error);
}

TEST_CASE("supply nets of a circuit have far more links than its other nodes") {
  const pattern plain = generate("circuit:n=2000");
  const pattern a = generate("circuit:n=2000,hubs=8,supply=0.5");
  std::vector<std::size_t> degree;
  for (index_t i = 0; i < a.n_rows; ++i) degree.push_back(a.row(i).size());
  std::ranges::sort(degree, std::greater<>());
  CHECK(longest_row(plain) < 20);
  CHECK(degree[7] > 2 * longest_row(plain));
  CHECK(degree[0] > 5 * degree[7]);
  CHECK(degree[8] < 20);
}

TEST_CASE("harmonic balance expands a circuit into blocks") {
  const std::string net = "degree=4,hubs=3,supply=0.2,oneway=0.4";
  const pattern circuit = generate("circuit:n=60," + net);
  CHECK(generate("harmonic:nodes=60,harmonics=1," + net) == circuit);
  CHECK(generate("harmonic:nodes=60,harmonics=5,nonlinear=0," + net).nnz() == 5 * circuit.nnz());
  CHECK(generate("harmonic:nodes=60,harmonics=5,nonlinear=1," + net).nnz() == 25 * circuit.nnz());
  const pattern a = generate("harmonic:nodes=60,harmonics=5,nonlinear=0.3," + net);
  for (index_t i = 0; i < a.n_rows; ++i) {
    for (const index_t j : a.row(i)) {
      CHECK(std::ranges::binary_search(circuit.row(i / 5), j / 5));
    }
  }
}

TEST_CASE("an economic model repeats its equations in every period") {
  const index_t equations = 40;
  const pattern a = generate("economy:equations=40,periods=6,countries=4,lags=2,leads=1");
  offset_t behind = 0;
  offset_t ahead = 0;
  for (index_t i = 0; i < a.n_rows; ++i) {
    for (const index_t j : a.row(i)) {
      const index_t shift = j / equations - i / equations;
      CHECK(std::abs(shift) <= 1);
      behind += shift < 0 ? 1 : 0;
      ahead += shift > 0 ? 1 : 0;
    }
  }
  CHECK(behind > ahead);
  CHECK(ahead > 0);
  for (index_t i = equations; i < 4 * equations; ++i) {
    std::vector<index_t> moved;
    for (const index_t j : a.row(i)) moved.push_back(j + equations);
    CHECK(std::ranges::equal(a.row(i + equations), moved));
  }
  CHECK(structural_symmetry(generate("economy:equations=200,periods=20,feedback=0.05")) < 0.2);
}

TEST_CASE("a horizon adds long rows and columns to an economic model and nothing else") {
  const std::string model = "economy:equations=60,periods=30,countries=3";
  const pattern plain = generate(model);
  const pattern a = generate(model + ",horizon=12");
  // Per country at most 5 entries for each coming and 3 for each past period within the horizon:
  // 12 of them in the middle, 12 * 13 / 2 less at each end.
  CHECK(a.nnz() - plain.nnz() > 3 * 6 * (30 * 12 - 78));
  CHECK(a.nnz() - plain.nnz() <= 3 * 8 * (30 * 12 - 78));
  CHECK(longest_row(plain) < 30);
  CHECK(longest_row(a) > 30);
  CHECK(longest_row(transpose(a)) > 20);
  for (index_t i = 0; i < a.n_rows; ++i) {
    for (const index_t j : a.row(i)) CHECK(std::abs(j / 60 - i / 60) <= 12);
  }
  CHECK(generate(model + ",horizon=29") == generate(model + ",horizon=300"));
}

TEST_CASE("columns couple neighbouring stages and hardly ever symmetrically") {
  const index_t block = 2 * 5 + 3;
  const pattern apart = generate("columns:columns=3,stages=8,components=5,recycles=0");
  for (index_t i = 0; i < apart.n_rows; ++i) {
    for (const index_t j : apart.row(i)) {
      CHECK(std::abs(i / block - j / block) <= 2);
      CHECK(i / block / 8 == j / block / 8);
    }
  }
  const pattern linked = generate("columns:columns=3,stages=8,components=5,recycles=2");
  CHECK(linked.nnz() > apart.nnz());
  CHECK(structural_symmetry(generate("columns:columns=5,stages=10,components=20")) < 0.01);
}

TEST_CASE("a flowsheet has the entries of its equations and needs a matching") {
  const index_t c = 4;
  const index_t stages = 7;
  const pattern a = generate("flowsheet:columns=3,stages=7,components=4,recycles=0");
  CHECK(a.n_rows == 3 * stages * (3 * c + 5));
  // balances of c components and of energy, K-values, equilibria, two sums, two enthalpies
  const index_t stage = 4 * (c + 1) + c * (2 * c + 2) + 5 * c + 2 * (c + 1) + 2 * (c + 2);
  CHECK(a.nnz() == 3 * (stages * stage - 2 * (c + 1)));
  CHECK(longest_row(a) == 2 * c + 2);
  const index_t column = stages * (3 * c + 5);
  for (index_t i = 0; i < a.n_rows; ++i) {
    for (const index_t j : a.row(i)) CHECK(i / column == j / column);
  }
  CHECK(generate("flowsheet:columns=3,stages=7,components=4,recycles=2").nnz() > a.nnz());
  const pattern large = generate("flowsheet:columns=6,stages=15,components=20,recycles=3");
  CHECK(structural_symmetry(large) < 0.03);
#ifdef GSOFA_HAVE_BTF
  CHECK(maximum_transversal(large).structural_rank == large.n_rows);
  CHECK(
      maximum_transversal(generate("flowsheet:columns=1,stages=2,components=1")).structural_rank ==
      16);
#endif
}

TEST_CASE("a power-flow system has the unknowns of its buses, branches, generators and periods") {
  // Without meshes the grid is a tree: 4 unknowns a bus, 14 a branch.
  for (const index_t buses : {1, 2, 7, 300}) {
    const std::string tree = "kkt:meshes=0,generators=0,buses=" + std::to_string(buses);
    CHECK(generate(tree + ",parallel=0").n_rows == 18 * buses - 14);
    CHECK(generate(tree + ",parallel=1").n_rows == 32 * buses - 28);
  }
  const pattern one = generate("kkt:buses=200,generators=0.25");
  CHECK(transpose(one) == one);
  CHECK(generate("kkt:buses=200,generators=0.25,meshes=1.4").n_rows > one.n_rows + 2000);
  // A further period adds its own unknowns, and a slack and a multiplier per generator.
  const pattern three = generate("kkt:buses=200,generators=0.25,periods=3");
  const index_t ramps = three.n_rows - 3 * one.n_rows;
  CHECK(ramps > 100);
  CHECK(ramps % 4 == 0);
  for (index_t i = 0; i < three.n_rows; ++i) {
    const index_t period = i / one.n_rows;
    if (period == 3) {
      // Slacks and multipliers take turns; a multiplier holds the power of a generator twice.
      const bool slack = (i - 3 * one.n_rows) % 2 == 0;
      REQUIRE(three.row(i).size() == (slack ? 2 : 4));
      if (!slack) CHECK(three.row(i)[1] - three.row(i)[0] == one.n_rows);
      continue;
    }
    std::vector<index_t> within;
    for (const index_t j : three.row(i)) {
      if (j / one.n_rows == period)
        within.push_back(j % one.n_rows);
      else
        REQUIRE(j / one.n_rows == 3);
    }
    REQUIRE(std::ranges::equal(within, one.row(i % one.n_rows)));
  }
}

TEST_CASE("control over time couples a state with its element, its neighbours and its control") {
  // Eight states, two elements of three points; a tree of seven links; three controls an element.
  const pattern a = generate("space_time_kkt:states=8,elements=2,controls=3,meshes=0");
  const index_t state_count = 8 * 2 * 3, equations = state_count + 3 * 2;
  REQUIRE(a.n_rows == equations + state_count);
  CHECK(transpose(a) == a);
  // Pairs: links at six points; equations with the points of their element, and the end of the one
  // before; controls with a state and its equation at each point.
  CHECK(a.nnz() == a.n_rows + 2 * (3 * 7 * 6 + 3 * state_count + 8 * 3 + 2 * 3 * 6));
  const auto row = a.row(equations + 3 * 8);  // of the first point of the second element
  for (const index_t point : {2, 3, 4, 5}) CHECK(std::ranges::binary_search(row, 8 * point));
  CHECK_FALSE(std::ranges::binary_search(row, 8));
  // A state of a chain: all states and equations of its stage, its equation of the next, a control.
  CHECK(generate("space_time_kkt:states=8,elements=9,points=1,coupling=full").row(8).size() == 18);
}

TEST_CASE("normal equations join the columns that a row of least squares has") {
  const std::string members = "degree=3,span=6,far=0.1";
  const pattern a = generate("bipartite_kkt:rows=50,columns=30," + members);
  std::set<std::pair<index_t, index_t>> pairs;
  for (index_t j = 0; j < 30; ++j) pairs.emplace(j, j);
  for (index_t i = 30; i < 80; ++i) {
    for (const index_t j : a.row(i).first(a.row(i).size() - 1)) {
      REQUIRE(j < 30);
      for (const index_t k : a.row(i).first(a.row(i).size() - 1)) pairs.emplace(j, k);
    }
  }
  // Rows of one are columns of the other.
  const pattern product = generate("normal_equations:rows=30,columns=50," + members);
  CHECK(product.nnz() == static_cast<offset_t>(pairs.size()));
  for (const auto& [j, k] : pairs) CHECK(std::ranges::binary_search(product.row(j), k));
  // Without far members all are within the span.
  const pattern near = generate("bipartite_kkt:rows=40,columns=40,far=0,span=5");
  for (index_t i = 40; i < 80; ++i) CHECK(near.row(i)[0] + 5 > *std::prev(near.row(i).end(), 2));
}
