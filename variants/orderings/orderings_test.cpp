#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <set>

#include "common/generators.hpp"
#include "common/order_quality.hpp"
#include "common/ordering.hpp"
#include "common/preprocess.hpp"
#include "common/symmetrize.hpp"
#include "common/variant.hpp"
#include "reference/gaussian_elimination.hpp"
#include "reference/order_check.hpp"
#include "variants/orderings/choose.hpp"

using namespace gsofa;

namespace {

std::string message_of(const std::string& spec) {
  try {
    find_order(spec);
  } catch (const input_error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("every ordering method describes itself") {
  for (const order_info& o : all_orders()) {
    CAPTURE(o.name);
    CHECK(o.name.starts_with("planted_") == !o.planted.empty());
    CHECK_FALSE(o.summary.empty());
    CHECK_FALSE(o.citation.empty());
    CHECK(o.compute);
    for (const option_spec& s : o.options) CHECK_FALSE(s.help.empty());
  }
  for (const char* name : {"amf", "natural", "colamd", "tournament"}) {
    CHECK_FALSE(find_order(name)->info->unavailable());
  }
}

TEST_CASE("orders are named with their options, or are files") {
  CHECK(find_order("amd")->info->name == "amd");
  CHECK(find_order("scotch:threads=2")->options.integer("threads") == 2);
  CHECK(find_order("metis:nseps=5,ufactor=400,no2hop=1")->options.integer("ufactor") == 400);
  CHECK(find_order("metis:no2hop=1")->options.flag("no2hop"));
  CHECK(message_of("metis:nseps=0") == "order metis: option nseps: 0 is outside [1, 1000]");
  CHECK_FALSE(find_order("some/order.perm"));
  CHECK(message_of("metsi").find("did you mean 'metis'?") != std::string::npos);
  CHECK(message_of("amd:tries=2").find("unknown option 'tries'") != std::string::npos);
  CHECK(message_of("scotch:threads") == "order scotch: 'threads' is not OPTION=VALUE");
  CHECK(message_of("scotch:threads=0") == "order scotch: option threads: 0 is outside [1, 1024]");
  CHECK_THROWS_AS(compute_order(generate("diagonal:n=3"), "none.perm", -1), input_error);
}

TEST_CASE("operations and height are those of the elimination itself") {
  std::mt19937 random(7);
  for (int trial = 0; trial < 40; ++trial) {
    const pattern a = generate("random:n=30,degree=3,seed=" + std::to_string(trial));
    std::vector<index_t> order = identity_order(a.n_rows);
    std::ranges::shuffle(order, random);
    // The postorder changes neither L + U nor the operations.
    const auto filled = reference::eliminate_boolean(permute(a, order, order));
    offset_t nnz_l = 0;
    offset_t nnz_u = 0;
    double flops = 0;
    const pattern transposed = transpose(filled);
    auto above = [](std::span<const index_t> row, index_t k) {
      return static_cast<double>(std::ranges::count_if(row, [k](index_t j) { return j > k; }));
    };
    for (index_t k = 0; k < a.n_rows; ++k) {
      const double u = above(filled.row(k), k);
      const double l = above(transposed.row(k), k);
      nnz_l += static_cast<offset_t>(l);
      nnz_u += static_cast<offset_t>(u) + 1;
      flops += l + 2 * l * u;
    }
    const order_quality q = quality_of(a, order, 1);
    CHECK(q.nnz_l == nnz_l);
    CHECK(q.nnz_u == nnz_u);
    CHECK(q.flops == flops);
  }
  CHECK(quality_of(generate("diagonal:n=4"), identity_order(4), 1).height == 1);
  CHECK(quality_of(generate("tridiagonal:n=9"), identity_order(9), 1).height == 9);
}

TEST_CASE("cpu_nested_dissection: any graph, the same order on any number of threads") {
  const char* specs[] = {
      "diagonal:n=1",           "diagonal:n=130",
      "tridiagonal:n=500",      "arrow:n=300",
      "arrow:n=300,tip=first",  "dense:n=150",
      "grid5:nx=40,ny=30",      "grid27:nx=9",
      "circuit:n=3000,hubs=20", "banded:n=700,lower=9,upper=9",
      "random:n=2000,degree=2", "random:n=400,degree=40",
  };
  for (const char* spec : specs) {
    CAPTURE(spec);
    const pattern a = generate(spec);
    const order_request method = *find_order("cpu_nested_dissection");
    const ordering one = method.info->compute(a, {.options = method.options, .threads = 1});
    CHECK(reference::fault_of_order(a, one) == "");
    REQUIRE_FALSE(one.separators.empty());
    for (const int threads : {2, 5}) {
      CHECK(method.info->compute(a, {.options = method.options, .threads = threads}).order ==
            one.order);
    }
    const ordering other = compute_order(a, "cpu_nested_dissection:tries=2,leaf_order=5", 3, 2);
    CHECK(reference::fault_of_order(a, other) == "");
  }
}

TEST_CASE("cpu_nested_dissection: isolated vertices come first and change nothing else") {
  constexpr index_t stride = 5;  // places of two vertices that are not isolated
  for (const char* spec : {"grid5:nx=30,ny=20", "circuit:n=900,hubs=3", "arrow:n=300"}) {
    CAPTURE(spec);
    const pattern core = generate(spec);
    triplets entries{stride * core.n_rows, stride * core.n_rows, {}, {}};
    std::vector<index_t> expected;
    for (index_t v = 0; v < entries.n_rows; ++v) {
      entries.rows.push_back(v);
      entries.cols.push_back(v);
      if (v % stride != 0) expected.push_back(v);
    }
    for (index_t i = 0; i < core.n_rows; ++i) {
      for (const index_t j : core.row(i)) {
        entries.rows.push_back(stride * i);
        entries.cols.push_back(stride * j);
      }
    }
    const pattern a = from_triplets(entries, duplicates::merge);
    for (const index_t v : compute_order(core, "cpu_nested_dissection", -1).order) {
      expected.push_back(stride * v);
    }
    const ordering found = compute_order(a, "cpu_nested_dissection", -1, 2);
    CHECK(found.order == expected);
    CHECK(reference::fault_of_order(a, found) == "");
  }
}

TEST_CASE("metis: its options give other orders, its defaults the same one") {
  if (find_order("metis")->info->unavailable()) return;
  const pattern a = generate("grid7:nx=15,ny=15,nz=15");
  const std::vector<index_t> usual = compute_order(a, "metis", -1).order;
  CHECK(compute_order(a, "metis:nseps=1,ufactor=200,no2hop=0", -1).order == usual);
  for (const char* spec : {"metis:nseps=5", "metis:ufactor=400"}) {
    const ordering other = compute_order(a, spec, -1);
    CHECK(other.order != usual);
    CHECK(reference::fault_of_order(a, other) == "");
  }
}

TEST_CASE("amd, amf, metis: patterns without rows or without entries") {
  for (const char* name : {"amd", "amf", "metis"}) {
    CAPTURE(name);
    if (find_order(name)->info->unavailable()) continue;
    CHECK(compute_order(pattern{}, name, -1).order.empty());
    CHECK(compute_order(pattern{2, 2, {0, 0, 0}, {}}, name, -1).order == identity_order(2));
    CHECK(compute_order(generate("diagonal:n=5"), name, -1).order == identity_order(5));
  }
}

TEST_CASE("amf: fewer operations than amd") {
  if (find_order("amd")->info->unavailable()) return;
  for (const char* spec : {"grid5:nx=60,ny=60", "grid7:nx=14,ny=14,nz=14", "elasticity3d:nx=9"}) {
    CAPTURE(spec);
    const pattern a = generate(spec);
    const double amd = quality_of(a, compute_order(a, "amd", -1).order, 1).flops;
    CHECK(quality_of(a, compute_order(a, "amf", -1).order, 1).flops < amd);
  }
}

TEST_CASE("cpu_nested_dissection: operations near those of METIS") {
  if (find_order("metis")->info->unavailable()) return;
  for (const char* spec :
       {"grid5:nx=70,ny=70", "grid7:nx=15,ny=15,nz=15", "grid27:nx=12,drop=0.3"}) {
    CAPTURE(spec);
    const pattern a = generate(spec);
    const double ours = quality_of(a, compute_order(a, "cpu_nested_dissection", -1).order, 1).flops;
    const double metis = quality_of(a, compute_order(a, "metis", -1).order, 1).flops;
    CHECK(ours <= 1.25 * metis);
  }
}

TEST_CASE("automatic takes longer to order what will be factorized more often") {
  const auto chosen = [](const char* matrix, const std::string& purpose) {
    return compute_order(generate(matrix), "automatic:" + purpose, -1, 1, nullptr, true);
  };
  const char* const grid = "grid7:nx=12,ny=12,nz=12";
  const ordering once = chosen(grid, "factorizations=1");
  CHECK(once.title() == "amf:score=degree");
  CHECK(chosen("elasticity3d:nx=5", "factorizations=1").title() == "amf");  // 60 entries a row
  CHECK(once.candidates.size() == 1);
  CHECK(chosen(grid, "factorizations=10").candidates.at(0).order == "amf");
  const ordering often = chosen(grid, "factorizations=1000");
  CHECK(often.title().starts_with("cpu_nested_dissection"));
  CHECK(often.candidates.size() > 2);
  const order_quality best = quality_of(generate(grid), often.order, 1);
  CHECK(best.flops < 0.9 * once.candidates[0].flops);
  // The tree of minimum degree of a chain is as high as the chain is long.
  CHECK(chosen("tridiagonal:n=30000", "factorizations=1").title() == "amf:score=degree");
  const ordering on_gpu = chosen("tridiagonal:n=30000", "kind=gpu");
  CHECK(on_gpu.title().starts_with("cpu_nested_dissection"));
  CHECK(quality_of(generate("tridiagonal:n=30000"), on_gpu.order, 1).height < 1000);
  // A device dissects few rows, and those around a hub, for longer than it saves.
  for (const char* small : {grid, "arrow:n=20000"}) {
    CHECK(chosen(small, "kind=gpu").title() == "amf:score=degree");
    CHECK(chosen(small, "kind=gpu,factorizations=100").title().starts_with("cpu_nested"));
  }
  // Minimum degree gives a path of 1,534 of 12,000 vertices.
  CHECK(chosen("columns:columns=20,stages=40,components=6", "kind=gpu")
            .title()
            .starts_with("cpu_nested"));
  CHECK(chosen("tridiagonal:n=900", "kind=gpu").title() == "amf:score=degree");
  CHECK(chosen(grid, "kind=distributed").title() == "amf:score=degree");
  // SuperLU_DIST is slow on the paths of minimum fill, which has the fewest operations here.
  CHECK(chosen("dg:nx=20,ny=18,nz=1", "kind=distributed,factorizations=1000").title() != "amf");
  // A dissection of a large mesh on many cores has no rival.
  CHECK(
      chosen("grid9:nx=230,ny=220", "kind=supernodal,cores=16").title().starts_with("cpu_nested"));
  const pattern a = generate("grid5:nx=12,ny=10");
  const prepared_pattern p = prepare(a, {.order = default_order}, {});
  CHECK(p.origin().order == compute_order(a, default_order, -1).title());
}

TEST_CASE("a graph with many vertices of one neighbour is no mesh, without reductions") {
  for (const auto& [spec, may] : std::map<std::string, bool>{
           {"grid5:nx=230", true}, {"grid5:nx=200", false}, {"kkt:buses=2300", false}}) {
    CAPTURE(spec);
    const pattern s = symmetrized(generate(spec), diagonal::drop);
    CHECK(orders::may_be_mesh(s) == may);
    CHECK((may || !orders::shape_of(s, 1).is_mesh));
  }
}

TEST_CASE("a dissection that begins next to minimum degree changes no choice") {
  for (const char* const matrix :
       {"grid7:nx=20,ny=20,nz=18", "circuit:n=9000", "triangles:nx=90"}) {
    const pattern a = generate(matrix);
    const auto chosen = [&](int threads) {
      return compute_order(a, "automatic:kind=supernodal,cores=16", -1, threads, nullptr, true);
    };
    const ordering alone = chosen(1), next = chosen(8);
    CHECK(alone.title() == next.title());
    CHECK(alone.order == next.order);
    CHECK(alone.candidates.size() == next.candidates.size());
  }
  const std::atomic<bool> stop{true};
  CHECK_THROWS_AS(compute_order(generate("grid7:nx=20"), "automatic:kind=supernodal,cores=16", -1,
                                8, &stop, true),
                  cancelled_error);
}

TEST_CASE("subtrees of at most 60 columns are supernodes, and long paths of them are refused") {
  const orders::purpose use{.kind = orders::factorization_kind::distributed};
  const auto counted = [&](const char* spec) {
    const pattern a = symmetrized(generate(spec), diagonal::drop);
    const ordered_tree t = tree_of_order(a, identity_order(a.n_rows));
    order_cost cost{.operations = t.operations, .entries = 2 * t.entries};
    count_supernodes(t, cost);
    return cost;
  };
  CHECK(counted("diagonal:n=7").supernodes == 7);
  CHECK(counted("dense:n=40").supernodes == 1);
  CHECK(counted("dense:n=200").supernodes == 2);  // a subtree of 60 columns, and the others
  // 60 columns, 139 alone, and the last two, which have equal rows.
  const order_cost chain = counted("tridiagonal:n=201");
  CHECK(chain.supernodes == 141);
  CHECK(chain.supernodal_height == 140);
  CHECK(seconds_of_use(chain, use) < 1);
  CHECK(seconds_of_use(counted("tridiagonal:n=20000"), use) > 1e6);
}

TEST_CASE("automatic bounds the operations of A + A^T while minimum fill eliminates") {
  for (const char* spec : {"grid9:nx=20,ny=20", "random:n=300,degree=3", "dense:n=20"}) {
    CAPTURE(spec);
    const pattern a = generate(spec);
    const ordering o = compute_order(a, "automatic", -1);
    const pattern sum = with_diagonal(symmetrized(a, diagonal::drop));
    const double flops = quality_of(sum, o.order, 1).flops;
    CHECK(flops <= o.candidates[0].flops);
    CHECK(flops >= 0.95 * o.candidates[0].flops);
  }
}

TEST_CASE("automatic takes an order without fill for what no order can be better") {
  // Blocks of vertices with one closed neighbourhood, in a chordal graph: no other order is tried.
  for (const char* spec : {"dense:n=400", "dense:n=3"}) {
    CAPTURE(spec);
    const pattern a = generate(spec);
    const ordering o = compute_order(a, "automatic", -1);
    CHECK(o.candidates.size() == 1);
    const order_quality q = quality_of(a, o.order, 1);
    CHECK(q.nnz_l + q.nnz_u == a.nnz());
  }
  pattern chain;  // of 12 blocks, each a clique with the next one
  chain.n_rows = chain.n_cols = 120;
  chain.row_ptr = {0};
  for (index_t v = 0; v < 120; ++v) {
    for (index_t u = std::max(0, v / 10 * 10 - 10); u < std::min(120, v / 10 * 10 + 20); ++u) {
      chain.col_idx.push_back(u);
    }
    chain.row_ptr.push_back(static_cast<offset_t>(chain.col_idx.size()));
  }
  const ordering o = compute_order(chain, "automatic", -1);
  CHECK(o.candidates.size() == 1);
  const order_quality q = quality_of(chain, o.order, 1);
  CHECK(q.nnz_l + q.nnz_u == chain.nnz());
  // Without blocks the first order that has no fill ends the tournament.
  CHECK(compute_order(generate("tridiagonal:n=300"), "automatic", -1).candidates.size() == 1);
}

TEST_CASE("automatic orders large blocks in place of their vertices") {
  for (const char* spec :
       {"elasticity3d:nx=3,ny=4,nz=5,dof=8", "elasticity3d:nx=3,ny=4,nz=5,dof=7"}) {
    const pattern a = generate(spec);
    const ordering o = compute_order(a, "automatic", -1);
    const order_quality q = quality_of(a, o.order, 1);
    CHECK(q.nnz_l + q.nnz_u > a.nnz());
    CHECK(o.note.ends_with(" of blocks") == (a.n_rows == 480));
    CHECK(q.flops <= o.candidates[0].flops);
  }
}

TEST_CASE("tournament keeps the candidate with the fewest operations") {
  for (const char* spec : {"grid9:nx=20,ny=20", "circuit:n=600", "random:n=300,degree=3"}) {
    CAPTURE(spec);
    const pattern a = generate(spec);
    const ordering o = compute_order(a, "tournament:factorizations=1000000,seeds=3", -1);
    REQUIRE(o.candidates.size() >= 5);  // three dissections, minimum degree, minimum fill
    double least = o.candidates[0].flops;
    for (const order_candidate& c : o.candidates) {
      CAPTURE(c.order);
      if (c.order.ends_with(" with direction") || c.order.ends_with(" in blocks")) continue;
      const ordering again = compute_order(a, c.order, c.seed);
      CHECK(quality_of(a, again.order, 1).flops == c.flops);
      least = std::min(least, c.flops);
    }
    CHECK(quality_of(a, o.order, 1).flops <= least);
  }
}

TEST_CASE("tournament ends when an order costs more than it may save") {
  const pattern a = generate("grid9:nx=40,ny=40");
  std::size_t before = 1;
  for (const char* spec : {"tournament:factorizations=1", "tournament:factorizations=1000",
                           "tournament:factorizations=1000000,seeds=5"}) {
    CAPTURE(spec);
    const ordering o = compute_order(a, spec, -1);
    CHECK(o.candidates.size() >= before);
    before = o.candidates.size();
  }
  CHECK(before > 3);
}
