#include "common/generators.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/digest.hpp"
#include "common/preprocess.hpp"
#include "common/random.hpp"

using namespace gsofa;

namespace {

struct golden {
  std::string spec;
  index_t n;
  offset_t nnz;
  std::uint64_t digest;
};

const std::vector<golden> golden_values = {
    {"arrow:n=20,tip=first", 20, 58, 0x94dc38e30acdfa0dULL},
    {"banded:n=30,lower=3,upper=1", 30, 143, 0x310a4b997ad17850ULL},
    {"batch:count=7,least=3,most=90", 371, 1649, 0xbbc2f4586c045199ULL},
    {"batch:count=5,least=20,most=60,kind=circuit,oneway=0.3,seed=4", 212, 801,
     0xd983a7ca2ca1b329ULL},
    {"channel:nx=7,ny=6,nz=3,fields=3,radius=2,stencil=box,upwind=x,thin=0.2,drop=0.1", 378, 23233,
     0x0fcc8f826118fc39ULL},
    {"circuit:n=500,degree=5.5,reach=0.3,hubs=6,supply=0.2,oneway=0.4,seed=9", 500, 2540,
     0x0cf545f855e3f9d5ULL},
    {"columns:columns=6,stages=9,components=7,recycles=1.5,drop=0.1", 918, 7466,
     0x08e4477353f9e02cULL},
    {"convection:nx=7,ny=8,nz=5,drop=0.1", 280, 2140, 0x744791b0faafcb36ULL},
    {"convection:nx=9,nz=1,stencil=9,conductive=0.3", 81, 399, 0xfa11bbb8eb14b5e6ULL},
    {"dense:n=12", 12, 144, 0x5bc15031910bfb22ULL},
    {"dg:nx=4,ny=3,nz=2", 576, 5952, 0xc8e9d337dec5d716ULL},
    {"dg:nx=7,ny=5,nz=1,oneway=0.2,seed=3", 210, 1248, 0x059bf22ee1be3aa1ULL},
    {"dg:nx=4,ny=5,nz=3,element=cube", 240, 3040, 0xb371145d63df4d1aULL},
    {"dg:nx=6,ny=5,nz=1,element=cube", 90, 666, 0x6e831d17dde67186ULL},
    {"diagonal:n=15", 15, 15, 0x212fd770d07c35d0ULL},
    {"dissected:nx=9,ny=7,nz=6", 378, 2328, 0x142d06bf603a7456ULL},
    {"dissected:nx=8,interleaved=1", 512, 3200, 0xd68b5a7258dbfa21ULL},
    {"dissected:nx=5,ny=6,nz=4,stencil=27,dof=2,oneway=0.5,drop=0.1,seed=3", 240, 5712,
     0xb57c6eb56a4f82d3ULL},
    {"economy:equations=70,periods=8,feedback=0.2,states=0.4", 560, 2916, 0x36c48963264aa43aULL},
    {"economy:equations=70,periods=9,horizon=5,n=600", 600, 4514, 0xdeb018f31f5b2e5dULL},
    {"edge_elements:nx=4,ny=3,nz=2", 133, 2749, 0x002b7e8dd23ee72bULL},
    {"edge_elements:nx=3,element=tet1", 279, 3519, 0x44cc780092d7b457ULL},
    {"edge_elements:nx=3,element=tet2,n=900", 900, 30240, 0x861542e43b9040b5ULL},
    {"elasticity3d:nx=5,ny=4,nz=6,wide=0.3,thin=0.1", 360, 18180, 0xbce1dc5e7610dc4fULL},
    {"fields:nx=5,ny=4,nz=3", 180, 1158, 0xc3d67f9beec53b61ULL},
    {"fields:nx=4,stencil=27,fields=2,coupling=stencil,drop=0.2,seed=5", 128, 2417,
     0xc2b76e1c5c20eb8bULL},
    {"fields:nx=4,ny=3,nz=5,coupling=random,seed=2", 180, 1956, 0xe9e3224ef886c32dULL},
    {"fields:nx=6,nz=1,stencil=5,fields=4,coupling=last", 144, 1668, 0xa89aba7b7b956a1eULL},
    {"flowsheet:columns=4,stages=5,components=6,recycles=1.5", 460, 3426, 0xbe8b6d427e5f130dULL},
    {"grid15:nx=6,oneway=0.5", 216, 1899, 0x6f29ac101016dcadULL},
    {"grid27:nx=6,thin=0.3,oneway=0.2,seed=4", 216, 2694, 0x80ef1b3c8c8091afULL},
    {"grid5:nx=13,ny=11,upwind=y", 143, 537, 0x4b2dbe5dd3d17d66ULL},
    {"grid7:nx=8,drop=0.3", 512, 2400, 0x15107681893b47d1ULL},
    {"grid9:nx=12,oneway=0.5,drop=0.1", 144, 802, 0xce8e4c9e55cd2678ULL},
    {"harmonic:nodes=80,harmonics=6,nonlinear=0.3,hubs=4,supply=0.2,oneway=0.5", 480, 4524,
     0xec5c5ba54888b15aULL},
    {"random:n=200,degree=6,seed=3", 200, 1200, 0x84893813434c6728ULL},
    {"tridiagonal:n=17", 17, 49, 0x97d07f080b522fefULL},
};

// The message of the input_error that `spec` causes; empty if there is none.
std::string refusal(const std::string& spec) {
  try {
    static_cast<void>(generate(spec));
  } catch (const input_error& e) {
    return e.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

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

std::size_t longest_row(const pattern& a) {
  std::size_t most = 0;
  for (index_t i = 0; i < a.n_rows; ++i) most = std::max(most, a.row(i).size());
  return most;
}

}  // namespace

TEST_CASE("splitmix64 gives the published sequence") {
  random_source random(1234567);
  CHECK(random() == 6457827717110365317ULL);
  CHECK(random() == 3203168211198807973ULL);
  CHECK(random() == 9817491932198370423ULL);
  CHECK(random() == 4593380528125082431ULL);
  CHECK(random() == 16408922859458223821ULL);
}

TEST_CASE("random_source keeps its bounds and reaches them") {
  random_source random(7);
  std::set<std::int64_t> seen;
  for (int k = 0; k < 1000; ++k) {
    seen.insert(random.between(-3, 4));
    CHECK(random.below(1) == 0);
  }
  CHECK(seen == std::set<std::int64_t>{-3, -2, -1, 0, 1, 2, 3, 4});
  CHECK(probability(0.0).never());
  CHECK_FALSE(probability(0.0).holds(0));
  CHECK(probability(1.0).holds(~std::uint64_t{0}));
  int hits = 0;
  for (int k = 0; k < 10000; ++k) hits += random.chance(probability(0.25)) ? 1 : 0;
  CHECK(hits > 2300);
  CHECK(hits < 2700);
}

TEST_CASE(
    "generated patterns have their golden digests and valid structure; all but flowsheets have a "
    "full diagonal") {
  for (const golden& g : golden_values) {
    CAPTURE(g.spec);
    const pattern a = generate(g.spec);
    validate(a, g.spec);
    CHECK(a.n_rows == g.n);
    CHECK(a.n_cols == g.n);
    CHECK(a.nnz() == g.nnz);
    CHECK(pattern_digest(a) == g.digest);
    CHECK((count_missing_diagonal(a) == 0) != g.spec.starts_with("flowsheet"));
    CHECK(generate(g.spec) == a);
  }
}

TEST_CASE("every family has a golden value and describes its parameters") {
  std::set<std::string> tested;
  for (const golden& g : golden_values) tested.insert(g.spec.substr(0, g.spec.find(':')));
  std::set<std::string> known;
  for (const generator_info& g : generators()) {
    CHECK_FALSE(g.summary.empty());
    CHECK_FALSE(g.parameters.empty());
    CHECK(known.insert(g.name).second);
  }
  CHECK(tested == known);
}

TEST_CASE("another seed gives another pattern") {
  for (const std::string spec :
       {"grid7:nx=8,drop=0.3", "grid5:nx=8,oneway=0.3", "grid9:nx=8,thin=0.3", "random:n=50",
        "circuit:n=50", "harmonic:nodes=30", "economy:equations=30,periods=4",
        "economy:equations=30,periods=4,horizon=2", "columns:columns=4,stages=6,components=3",
        "flowsheet:columns=4,stages=6,components=3", "elasticity3d:nx=4,wide=0.5",
        "fields:nx=4,coupling=random", "dg:nx=3,drop=0.2", "convection:nx=4,oneway=0.3"}) {
    CAPTURE(spec);
    CHECK(generate(spec + ",seed=1") == generate(spec));
    CHECK_FALSE(generate(spec + ",seed=2") == generate(spec));
  }
}

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
  CHECK(contains(refusal("dissected:nx=1300"), "does not fit in 32 bits"));
}

TEST_CASE("a batch is a direct sum of matrices in fill-reducing orders") {
  const pattern one = generate("batch:count=1,least=900,most=900");
  CHECK(one.nnz() == generate("grid5:nx=30").nnz());
  const pattern a = generate("batch:count=40,least=1,most=70,seed=5");
  // A grid is connected: its rows are one block.
  index_t blocks = 0;
  index_t last = -1;
  for (index_t i = 0; i < a.n_rows; ++i) {
    if (last < i) ++blocks;
    for (const index_t j : a.row(i)) last = std::max(last, j);
  }
  CHECK(blocks == 40);
  CHECK(generate("batch:count=0").n_rows == 0);
  CHECK(generate("batch:count=3,least=17,most=17,kind=circuit").n_rows == 51);
  // Nested dissection of a grid of 30 x 30 has about a third of the fill of its rows one by one.
  CHECK(fill_of(one) * 2 < fill_of(generate("grid5:nx=30")));
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

TEST_CASE("plain families") {
  for (const index_t n : {0, 1, 2, 7}) {
    const std::string size = "n=" + std::to_string(n);
    CAPTURE(n);
    const pattern dense = generate("dense:" + size);
    CHECK(dense.nnz() == offset_t{n} * n);
    CHECK(generate("diagonal:" + size).nnz() == n);
    CHECK(generate("tridiagonal:" + size).nnz() == (n == 0 ? 0 : 3 * offset_t{n} - 2));
    CHECK(generate("banded:" + size + ",lower=1") == generate("tridiagonal:" + size));
    CHECK(generate("banded:" + size + ",lower=90,upper=90") == dense);
    CHECK(generate("arrow:" + size).nnz() == (n == 0 ? 0 : 3 * offset_t{n} - 2));
    CHECK(generate("random:degree=90," + size) == dense);
    CHECK(generate("circuit:" + size).n_rows == n);
  }
  const pattern banded = generate("banded:n=6,lower=2,upper=0");
  CHECK(std::ranges::equal(banded.row(4), std::vector<index_t>{2, 3, 4}));
  const pattern first = generate("arrow:n=5,tip=first");
  CHECK(first.row(0).size() == 5);
  CHECK(std::ranges::equal(first.row(3), std::vector<index_t>{0, 3}));
  const pattern last = generate("arrow:n=5,tip=last");
  CHECK(last.row(4).size() == 5);
  CHECK(std::ranges::equal(last.row(2), std::vector<index_t>{2, 4}));
  const pattern random = generate("random:n=300,degree=7,seed=5");
  for (index_t i = 0; i < 300; ++i) CHECK(random.row(i).size() == 7);
}

TEST_CASE("bad specs are refused in one line that says what is wrong and what is known") {
  for (const auto& [spec, reason] : std::vector<std::pair<std::string, std::string>>{
           {"", "unknown family \"\""},
           {"grid8:nx=3", "unknown family \"grid8\" (known: arrow, "},
           {"grid5", "key \"nx\" is required"},
           {"grid5:", "key \"nx\" is required"},
           {"grid5:nx", "expected key=value, found \"nx\""},
           {"grid5:=3", "expected key=value, found \"=3\""},
           {"grid5:nx=3,", "expected key=value after the last comma"},
           {"grid5:nx=3,,ny=3", "expected key=value, found \"\""},
           {"grid5:nx=3,nz=3", "unknown key \"nz\" (known: nx, ny, "},
           {"grid5:nx=3,nx=3", "key \"nx\" is repeated"},
           {"grid5:nx=0", "nx = \"0\" must be an integer from 1 to 2147483647"},
           {"grid5:nx=-4", "nx = \"-4\" must be an integer"},
           {"grid5:nx=4x", "nx = \"4x\" must be an integer"},
           {"grid5:nx=1.5", "nx = \"1.5\" must be an integer"},
           {"grid5:nx=", "nx = \"\" must be an integer"},
           {"grid5:nx= 4", "nx = \" 4\" must be an integer"},
           {"grid5:nx=99999999999999999999", "must be an integer"},
           {"grid5:nx=4294967297", "must be an integer"},
           {"grid5:nx=4,drop=1.5", "drop = \"1.5\" must be a number from 0 to 1"},
           {"grid5:nx=4,drop=-0.1", "drop = \"-0.1\" must be a number"},
           {"grid5:nx=4,drop=nan", "drop = \"nan\" must be a number"},
           {"grid5:nx=4,drop=inf", "drop = \"inf\" must be a number"},
           {"grid5:nx=4,upwind=up", "upwind = \"up\" must be one of none, x, y, z, all"},
           {"grid5:nx=4,seed=-1", "seed = \"-1\" must be an integer"},
           {"grid5:nx=4,n=17", "n = 17 exceeds the order 16"},
           {"grid5:nx=50000", "does not fit in 32 bits"},
           {"grid7:nx=2000", "does not fit in 32 bits"},
           {"elasticity3d:nx=1000", "does not fit in 32 bits"},
           {"edge_elements:nx=1000", "does not fit in 32 bits"},
           {"edge_elements:nx=2147483647,ny=1,nz=1", "does not fit in 32 bits"},
           {"harmonic:nodes=2000000000,harmonics=100", "does not fit in 32 bits"},
           {"economy:equations=100000,periods=100000", "does not fit in 32 bits"},
           {"economy:equations=3,periods=4", "countries must not exceed equations"},
           {"columns:columns=100000,stages=100000,components=9", "does not fit in 32 bits"},
           {"columns:columns=2,stages=1,components=3", "stages = \"1\" must be an integer from 2"},
           {"flowsheet:columns=100000,stages=100000,components=9", "does not fit in 32 bits"},
           {"batch:count=2,least=9,most=8", "least = 9 exceeds most = 8"},
           {"batch:count=1000,least=16777216,most=16777216", "does not fit in 32 bits"},
           {"flowsheet:columns=2,stages=1,components=3",
            "stages = \"1\" must be an integer from 2"},
           {"dense:n=2147483647", "exceed the limit"},
           {"random:n=2147483647,degree=2147483647", "exceed the limit"},
           {"circuit:n=2147483647,degree=1000", "exceed the limit"},
           {"grid27:nx=1290", "exceed the limit"}}) {
    CAPTURE(spec);
    const std::string message = refusal(spec);
    CAPTURE(message);
    CHECK(contains(message, reason));
    CHECK(contains(message, "generator spec \"" + spec + "\""));
    CHECK_FALSE(contains(message, "\n"));
  }
}
