#include "common/generators.hpp"
#include "common/generated_patterns.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/digest.hpp"
#include "common/ordering.hpp"
#include "common/random.hpp"

using namespace gsofa;
using namespace gsofa::testing;

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
    {"bipartite_kkt:rows=90,columns=60,degree=3.5,span=9,far=0.2,seed=4", 150, 736,
     0xd66c468d6c01e2fcULL},
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
    {"kkt:buses=40", 1022, 5712, 0x15139e1378054d1dULL},
    {"kkt:buses=30,meshes=1.5,split=0.2,reach=0.7,parallel=0.4,generators=0.3,periods=2,seed=3",
     3426, 19884, 0xf6b5c0f7c8ffa6afULL},
    {"normal_equations:rows=80,columns=120,degree=3,span=7,far=0.05,seed=2", 80, 518,
     0xf564bc75864b5cebULL},
    {"random:n=200,degree=6,seed=3", 200, 1200, 0x84893813434c6728ULL},
    {"space_time_kkt:states=9,elements=5,controls=2,meshes=0.7,seed=2", 280, 2596,
     0x6f2171c6fe0dc1acULL},
    {"space_time_kkt:states=4,elements=6,points=1,coupling=full", 54, 382, 0x6c15411ae01f9d62ULL},
    {"triangles:nx=17,ny=12,holes=2,seed=5", 202, 1292, 0x770e4e8be113de2bULL},
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
        "fields:nx=4,coupling=random", "dg:nx=3,drop=0.2", "convection:nx=4,oneway=0.3",
        "kkt:buses=20", "bipartite_kkt:rows=20,columns=30", "normal_equations:rows=30,columns=20",
        "space_time_kkt:states=9,elements=2", "triangles:nx=5,holes=0"}) {
    CAPTURE(spec);
    CHECK(generate(spec + ",seed=1") == generate(spec));
    CHECK_FALSE(generate(spec + ",seed=2") == generate(spec));
  }
}

TEST_CASE("exchanged rows are the rows of the family in an order that every platform repeats") {
  const pattern plain = generate("grid7:nx=6,oneway=0.5");
  const pattern exchanged = generate("exchanged_rows:grid7:nx=6,oneway=0.5");
  CHECK(pattern_digest(exchanged) == 330356241133757979U);
  CHECK(count_missing_diagonal(exchanged) > plain.n_rows / 2);
  const std::vector<index_t> rows = random_order(plain.n_rows, 1);
  for (index_t i = 0; i < plain.n_rows; ++i) {
    CHECK(std::ranges::equal(exchanged.row(i), plain.row(rows[at(i)])));
  }
  CHECK_THROWS_AS(generate("exchanged_rows:exchanged_rows:grid7:nx=6"), input_error);
  CHECK_THROWS_AS(generate("exchanged_rows:"), input_error);
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
           {"kkt:buses=100000,periods=100000", "does not fit in 32 bits"},
           {"kkt:buses=100000,periods=1000", "exceed the limit"},
           {"columns:columns=2,stages=1,components=3", "stages = \"1\" must be an integer from 2"},
           {"flowsheet:columns=100000,stages=100000,components=9", "does not fit in 32 bits"},
           {"flowsheet:columns=2,stages=1,components=3",
            "stages = \"1\" must be an integer from 2"},
           {"space_time_kkt:states=100000,elements=100000", "does not fit in 32 bits"},
           {"space_time_kkt:states=30000,elements=2,coupling=full", "exceed the limit"},
           {"bipartite_kkt:rows=2147483647,columns=1", "does not fit in 32 bits"},
           {"normal_equations:rows=9,columns=2147483647", "exceed the limit"},
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
