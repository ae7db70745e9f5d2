#include "common/generated_patterns.hpp"
#include "common/generators.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/preprocess.hpp"
#include "common/random.hpp"

using namespace gsofa;
using namespace gsofa::testing;

TEST_CASE("meshes have the entries that their stencils count") {
  // ny and nz follow nx
  CHECK(generate("grid5:nx=6") == generate("grid5:nx=6,ny=6"));
  CHECK(generate("grid7:nx=4") == generate("grid7:nx=4,ny=4,nz=4"));
  CHECK(generate("grid5:nx=7,ny=4").nnz() == 28 + 2 * (6 * 4 + 7 * 3));
  CHECK(generate("grid7:nx=5,ny=4,nz=3").nnz() == 60 + 2 * (4 * 12 + 5 * 3 * 3 + 20 * 2));
  // 3 m - 2 pairs of equal or adjacent points on a line of m
  CHECK(generate("grid9:nx=5,ny=4").nnz() == 13 * 10);
  CHECK(generate("grid27:nx=5,ny=4,nz=3").nnz() == 13 * 10 * 7);
  CHECK(generate("elasticity3d:nx=5,ny=4,nz=3").nnz() == 9 * 13 * 10 * 7);
  CHECK(generate("elasticity3d:nx=5,ny=4,nz=3,dof=1") == generate("grid27:nx=5,ny=4,nz=3"));
  CHECK(generate("channel:nx=5,ny=4") == generate("grid5:nx=5,ny=4"));
  CHECK(longest_row(generate("grid15:nx=5")) == 15);
  // An interior edge of a hexahedral mesh shares cells with 32 others.
  const pattern hex = generate("edge_elements:nx=4,ny=3,nz=2");
  CHECK(hex.n_rows == 4 * 4 * 3 + 5 * 3 * 3 + 5 * 4 * 2);
  CHECK(longest_row(hex) == 33);
  // One cube: 12 edges; as six tetrahedra 19 edges and 18 faces
  CHECK(generate("edge_elements:nx=1").nnz() == 12 * 12);
  CHECK(generate("edge_elements:nx=1,element=tet1").n_rows == 19);
  CHECK(generate("edge_elements:nx=1,element=tet2").n_rows == 2 * (19 + 18));
  // The cube's long diagonal is an edge of all six: coupled with everything.
  CHECK(longest_row(generate("edge_elements:nx=1,element=tet1")) == 19);
}

TEST_CASE("unfiltered meshes are symmetric") {
  for (const std::string spec :
       {"grid5:nx=9,ny=5", "grid7:nx=5", "grid9:nx=7", "grid15:nx=4", "grid27:nx=4",
        "grid27:nx=5,thin=0.4", "elasticity3d:nx=4,wide=0.5,thin=0.2",
        "channel:nx=6,ny=5,fields=3,radius=2,coupling=full", "edge_elements:nx=2",
        "edge_elements:nx=2,element=tet1", "edge_elements:nx=2,element=tet2", "circuit:n=200",
        "arrow:n=9", "dense:n=5"}) {
    CAPTURE(spec);
    CHECK(structural_symmetry(generate(spec)) == 1.0);
  }
}

TEST_CASE("oneway keeps exactly one direction of every edge") {
  for (const std::string spec :
       {"grid27:nx=6", "channel:nx=8,ny=7,radius=2", "circuit:n=300,degree=5,hubs=3,supply=0.5"}) {
    CAPTURE(spec);
    const pattern both = generate(spec);
    const pattern one = generate(spec + ",oneway=1");
    CHECK(structural_symmetry(one) == 0.0);
    CHECK(2 * (one.nnz() - one.n_rows) == both.nnz() - both.n_rows);
    CHECK(symmetrized(one, diagonal::keep) == both);
    // Both directions are lost: the result is not triangular.
    offset_t lower = 0;
    for (index_t i = 0; i < one.n_rows; ++i) {
      for (const index_t j : one.row(i)) lower += j < i ? 1 : 0;
    }
    CHECK(lower > (one.nnz() - one.n_rows) / 3);
    CHECK(lower < 2 * (one.nnz() - one.n_rows) / 3);
  }
}

TEST_CASE("drop loses the given share of off-diagonal entries") {
  const pattern whole = generate("grid7:nx=20");
  const pattern part = generate("grid7:nx=20,drop=0.3");
  const auto off = [](const pattern& a) { return static_cast<double>(a.nnz() - a.n_rows); };
  CHECK(off(part) / off(whole) == doctest::Approx(0.7).epsilon(0.02));
  // Each direction is decided by itself: a partner survives with probability 0.7 too.
  CHECK(structural_symmetry(part) == doctest::Approx(0.7).epsilon(0.03));
  CHECK(generate("grid7:nx=6,drop=1") == generate("diagonal:n=216"));
  CHECK(generate("grid7:nx=6,thin=1") == generate("diagonal:n=216"));
}

TEST_CASE("upwind rows do not depend on what is downstream") {
  const pattern a = generate("grid5:nx=6,ny=5,upwind=x");
  for (index_t i = 0; i < a.n_rows; ++i) {
    const bool has_next = std::ranges::binary_search(a.row(i), i + 1);
    CHECK_FALSE(has_next);
    const bool has_previous = std::ranges::binary_search(a.row(i), i - 1);
    CHECK(has_previous == (i % 6 != 0));
  }
  // The entries across the flow keep their partners: 2 * 6 * 4 of them, and 5 * 5 along it.
  CHECK(structural_symmetry(a) == doctest::Approx(48.0 / 73.0));
  const pattern triangular = generate("grid7:nx=4,upwind=all");
  CHECK(structural_symmetry(triangular) == 0.0);
  for (index_t i = 0; i < triangular.n_rows; ++i) CHECK(triangular.row(i).back() == i);
}

TEST_CASE("channel couples its fields one way") {
  const index_t fields = 3;
  const pattern a = generate("channel:nx=4,ny=3,fields=3");
  for (index_t i = 0; i < a.n_rows; ++i) {
    for (const index_t j : a.row(i)) {
      const bool same_node = i / fields == j / fields;
      CHECK((same_node || j % fields <= i % fields));
    }
  }
  // 17 links of nodes in each direction, 12 nodes
  CHECK(a.nnz() == 12 * 9 + 2 * 17 * 6);
  CHECK(generate("channel:nx=4,ny=3,fields=3,coupling=none").nnz() == 12 * 9 + 2 * 17 * 3);
  CHECK(generate("channel:nx=4,ny=3,fields=3,coupling=full").nnz() == 12 * 9 + 2 * 17 * 9);
}

TEST_CASE("discontinuous Galerkin couples elements by blocks, from the element upwind of a face") {
  for (const auto& [spec, dof, faces] : std::vector<std::tuple<std::string, index_t, offset_t>>{
           // Faces between elements: 6 in a cube and 2 in each square between two cubes.
           {"dg:nx=5,ny=4,nz=3", 4, 6 * 60 + 2 * (4 * 12 + 5 * 9 + 20 * 2)},
           {"dg:nx=5,ny=4,nz=3,element=cube", 4, 4 * 12 + 5 * 9 + 20 * 2},
           {"dg:nx=6,ny=5,nz=1", 3, 30 + 5 * 5 + 6 * 4},
           {"dg:nx=6,ny=5,nz=1,element=cube", 3, 5 * 5 + 6 * 4}}) {
    CAPTURE(spec);
    const pattern a = generate(spec);
    offset_t upwind = 0;
    for (index_t i = 0; i < a.n_rows; ++i) {
      REQUIRE(static_cast<index_t>(a.row(i).size()) % dof == 0);
      for (const index_t j : a.row(i)) {
        CHECK(std::ranges::binary_search(a.row(i - i % dof), j));
        if (i / dof == j / dof) continue;
        ++upwind;
        CHECK_FALSE(std::ranges::binary_search(a.row(j), i));
      }
      CHECK(std::ranges::binary_search(a.row(i), i - i % dof));
    }
    // All faces but those along which the flow runs or stands.
    CHECK(upwind <= faces * dof * dof);
    CHECK(upwind > faces * dof * dof * 3 / 4);
  }
}

TEST_CASE("a recirculating flow has no order in which all coupling is downstream") {
  for (const std::string spec :
       {"dg:nx=8,nz=1", "dg:nx=5", "dg:nx=6,element=cube",
        "convection:nx=9,nz=1,stencil=5,conductive=0", "convection:nx=7,stencil=7,conductive=0"}) {
    CAPTURE(spec);
    const pattern a = generate(spec);
    // Elements without an unvisited element upwind, again and again.
    std::vector<std::size_t> left(static_cast<std::size_t>(a.n_rows));
    std::vector<index_t> next;
    const pattern downwind = transpose(a);
    const index_t dof = spec.starts_with("dg") ? (contains(spec, "nz=1") ? 3 : 4) : 1;
    for (index_t i = 0; i < a.n_rows; ++i) {
      left[static_cast<std::size_t>(i)] = a.row(i).size() - static_cast<std::size_t>(dof);
      if (left[static_cast<std::size_t>(i)] == 0) next.push_back(i);
    }
    index_t ordered = 0;
    while (!next.empty()) {
      const index_t j = next.back();
      next.pop_back();
      ++ordered;
      for (const index_t i : downwind.row(j)) {
        if (i / dof != j / dof && --left[static_cast<std::size_t>(i)] == 0) next.push_back(i);
      }
    }
    CHECK(ordered < a.n_rows / 2);
  }
}

TEST_CASE("conduction couples both ways where it is, and nowhere else") {
  CHECK(generate("convection:nx=5,conductive=1") == generate("grid15:nx=5"));
  CHECK(generate("convection:nx=5,nz=1,stencil=9,conductive=1") == generate("grid9:nx=5"));
  CHECK(structural_symmetry(generate("convection:nx=6,conductive=0")) == 0.0);
  const pattern a = generate("convection:nx=6,ny=8,nz=5,stencil=7,conductive=0.5");
  const pattern grid = generate("grid7:nx=6,ny=8,nz=5");
  for (index_t i = 0; i < a.n_rows; ++i) {
    for (const index_t j : grid.row(i)) {
      if (i == j) continue;
      const bool conducts = std::min(i / 6 % 8, j / 6 % 8) < 4;
      const bool forward = std::ranges::binary_search(a.row(i), j);
      const bool back = std::ranges::binary_search(a.row(j), i);
      CHECK((forward && back) == conducts);
    }
  }
}

TEST_CASE("fields depend on those before them, or on one another as the coupling says") {
  const offset_t links = generate("grid7:nx=4,ny=3,nz=5").nnz();
  CHECK(generate("fields:nx=4,ny=3,nz=5,fields=1") == generate("grid7:nx=4,ny=3,nz=5"));
  CHECK(generate("fields:nx=4,ny=3,nz=5").nnz() == 3 * links + 3 * 60);
  CHECK(generate("fields:nx=4,ny=3,nz=5,coupling=stencil").nnz() == 6 * links);
  CHECK(generate("fields:nx=4,ny=3,nz=5,coupling=random").nnz() == 6 * links);
  CHECK(generate("fields:nx=4,ny=3,nz=5,coupling=last").nnz() == 5 * links + 2 * 60);
  const pattern random = generate("fields:nx=6,coupling=random");
  offset_t later = 0;
  for (index_t i = 0; i < random.n_rows; ++i) {
    for (const index_t j : random.row(i)) {
      if (i / 3 == j / 3 && i != j) CHECK_FALSE(std::ranges::binary_search(random.row(j), i));
      later += j % 3 > i % 3 ? 1 : 0;
    }
  }
  CHECK(later > random.nnz() / 5);
  CHECK(later < random.nnz() / 3);
}

TEST_CASE("n cuts out the leading principal submatrix") {
  for (const auto& [spec, n] : std::vector<std::pair<std::string, index_t>>{
           {"grid7:nx=5,drop=0.2", 77},
           {"elasticity3d:nx=4", 100},
           {"edge_elements:nx=3,element=tet2", 501},
           {"harmonic:nodes=40,harmonics=5", 123},
           {"economy:equations=30,periods=5", 131},
           {"columns:columns=3,stages=5,components=4", 88}}) {
    CAPTURE(spec);
    const pattern whole = generate(spec);
    const pattern part = generate(spec + ",n=" + std::to_string(n));
    REQUIRE(part.n_rows == n);
    CHECK(part.n_cols == n);
    for (index_t i = 0; i < n; ++i) {
      std::vector<index_t> expected;
      for (const index_t j : whole.row(i)) {
        if (j < n) expected.push_back(j);
      }
      CHECK(std::ranges::equal(part.row(i), expected));
    }
  }
}

TEST_CASE("a triangle mesh has a diagonal in each cell, and holes cut vertices out") {
  const pattern a = generate("triangles:nx=30,ny=20,holes=0");
  CHECK(a.nnz() == 600 + 2 * (29 * 20 + 30 * 19 + 29 * 19));
  CHECK(transpose(a) == a);
  CHECK(longest_row(a) == 9);  // both kinds of diagonals
  const pattern b = generate("triangles:nx=30,ny=20,holes=4");
  CHECK(b.n_rows < 600);
  CHECK(b.nnz() < a.nnz());
}
