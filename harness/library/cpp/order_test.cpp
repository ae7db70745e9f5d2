// order(): its order has the fill of analyze()'s, its tree separates, weights and seeds count, and
// every fault is one line.

#include <doctest/doctest.h>

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/generators.hpp"
#include "common/partition_tree.hpp"
#include "common/pattern.hpp"
#include "common/preprocess.hpp"
#include "gsofa/gsofa.h"
#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/test_analyses.hpp"

namespace gsofa {
namespace {

using library::testing::refusal;

csr_view rows_of(const pattern& a) { return {a.n_rows, a.row_ptr, a.col_idx}; }

const std::vector<std::string>& inputs() {
  static const std::vector<std::string> all{"grid5:nx=40,ny=31", "grid27:nx=9,drop=0.3",
                                            "circuit:n=1500", "kkt:buses=40", "diagonal:n=30"};
  return all;
}

std::vector<std::pair<order_method, std::string>> host_methods() {
  std::vector<std::pair<order_method, std::string>> all{
      {order_method::automatic, ""},
      {order_method::amd, "amd"},
      {order_method::amf, "amf"},
      {order_method::natural, "natural"},
      {order_method::cpu_nested_dissection, "cpu_nested_dissection"},
      {order_method::tournament, ""}};
  if (has_metis()) all.emplace_back(order_method::metis, "metis");
  return all;
}

// Entries of L + U in this order.
std::int64_t filled(const pattern& a, std::span<const std::int32_t> permutation) {
  const analysis f = analyze(
      rows_of(a),
      {.device = compute_device::cpu, .order = order_method::given, .permutation = permutation});
  return f.nnz_l + f.nnz_u;
}

TEST_CASE("the fill of order() is that of analyze(), whatever the tree and its layout") {
  for (const std::string& spec : inputs()) {
    CAPTURE(spec);
    const pattern a = with_diagonal(generate(spec));
    for (const auto& [method, name] : host_methods()) {
      CAPTURE(name);
      const analysis expected =
          analyze(rows_of(a), {.device = compute_device::cpu, .order = method});
      for (const int levels : {0, 1, 4}) {
        for (const tree_layout layout : {tree_layout::by_level, tree_layout::nested}) {
          const pattern_order found = order(rows_of(a), {.order = method,
                                                         .device = compute_device::cpu,
                                                         .tree_levels = levels,
                                                         .layout = layout});
          CHECK(found.n == a.n_rows);
          const bool divides = method == order_method::automatic ||
                               method == order_method::tournament ||
                               method == order_method::cpu_nested_dissection;
          if (levels <= 1 || !divides) {
            CHECK(filled(a, found.permutation) == expected.nnz_l + expected.nnz_u);
            CHECK(found.order == expected.order);
          } else {
            CHECK(found.order.starts_with("cpu_nested_dissection"));
          }
          CHECK(found.fallback.empty());
          CHECK(found.tree_sizes.size() == (std::size_t{1} << levels) - 1);
          if (levels == 0) continue;
          const bool nested = layout == tree_layout::nested;
          CHECK(partition::crossing_entries(a, {.levels = levels,
                                                .layout = nested ? partition::tree_layout::nested
                                                                 : partition::tree_layout::by_level,
                                                .size = found.tree_sizes,
                                                .order = found.permutation}) == 0);
        }
      }
    }
  }
}

TEST_CASE("the purpose decides the automatic order, in C++ and in C") {
  const pattern a = generate("grid7:nx=12,ny=12,nz=12");
  const auto ordered = [&](const order_purpose& purpose, compute_device device) {
    const pattern_order found = order(rows_of(a), {.purpose = purpose, .device = device});
    gsofa_order_options o;
    gsofa_order_options_init(&o);
    o.device = static_cast<int>(device);
    o.factorizations = purpose.factorizations;
    o.factorization_kind = static_cast<int>(purpose.kind);
    o.factorization_cores = purpose.cores;
    const gsofa_pattern in_c{a.n_rows, a.row_ptr.data(), a.col_idx.data(), GSOFA_INDEX_64_32,
                             GSOFA_CSR};
    std::vector<std::int32_t> permutation(at(a.n_rows));
    CHECK(gsofa_order_pattern(&in_c, &o, permutation.data(), nullptr) == GSOFA_OK);
    CHECK(permutation == found.permutation);
    const analysis whole = analyze(rows_of(a), {.device = device, .purpose = purpose});
    CHECK(whole.order == found.order);
    return found.order;
  };
  const compute_device host = compute_device::cpu;
  CHECK(ordered({}, host) == "amf:score=degree");
  CHECK(ordered({.factorizations = 1000}, host).starts_with("cpu_nested_dissection"));
  CHECK(ordered({.kind = factorization_kind::gpu}, host) == "amf:score=degree");
  CHECK(ordered({.kind = factorization_kind::supernodal, .cores = 16}, host) == "amf:score=degree");
}

TEST_CASE("one triangle, columns, other integers and C give the same order") {
  const pattern a = generate("grid5:nx=30,ny=21");
  const order_options options{.order = order_method::cpu_nested_dissection, .tree_levels = 3};
  const pattern_order expected = order(rows_of(a), options);
  CHECK(*std::ranges::max_element(expected.tree_sizes) > 20);

  triplets lower{a.n_rows, a.n_cols, {}, {}};
  for (index_t i = 0; i < a.n_rows; ++i) {
    for (const index_t j : a.row(i)) {
      if (j > i) continue;
      lower.rows.push_back(i);
      lower.cols.push_back(j);
    }
  }
  const pattern triangle = from_triplets(lower, duplicates::merge);
  CHECK(order(rows_of(triangle), options).permutation == expected.permutation);
  CHECK(order(csc_view{a.n_rows, a.row_ptr, a.col_idx}, options).permutation ==
        expected.permutation);
  const std::vector<std::int32_t> short_ptr(a.row_ptr.begin(), a.row_ptr.end());
  CHECK(order(csr_view_32{a.n_rows, short_ptr, a.col_idx}, options).permutation ==
        expected.permutation);

  const gsofa_pattern in_c{a.n_rows, a.row_ptr.data(), a.col_idx.data(), GSOFA_INDEX_64_32,
                           GSOFA_CSR};
  gsofa_order_options o;
  gsofa_order_options_init(&o);
  o.order = GSOFA_ORDER_CPU_NESTED_DISSECTION;
  o.tree_levels = 3;
  std::vector<std::int32_t> permutation(at(a.n_rows)), sizes(7);
  std::vector<std::string> lines;
  o.user = &lines;
  o.log = [](const char* line, void* user) {
    static_cast<std::vector<std::string>*>(user)->emplace_back(line);
  };
  REQUIRE(gsofa_order_pattern(&in_c, &o, permutation.data(), sizes.data()) == GSOFA_OK);
  CHECK(permutation == expected.permutation);
  CHECK(sizes == expected.tree_sizes);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].starts_with("order cpu_nested_dissection: "));
  CHECK(gsofa_order_pattern(&in_c, nullptr, permutation.data(), nullptr) == GSOFA_OK);
  CHECK(gsofa_order_pattern(nullptr, nullptr, permutation.data(), nullptr) == GSOFA_INVALID_INPUT);
  CHECK(gsofa_order_pattern(&in_c, nullptr, nullptr, nullptr) == GSOFA_INVALID_INPUT);
  CHECK(std::string(gsofa_last_error()) == "permutation is NULL");
  o.size = 3;
  CHECK(gsofa_order_pattern(&in_c, &o, permutation.data(), nullptr) == GSOFA_INVALID_INPUT);
}

TEST_CASE("separators avoid heavy vertices") {
  // A strip of 9 x 60. Its shortest separators are columns of nine; three of four columns
  // have a vertex that is heavier than such a column.
  const pattern a = generate("grid5:nx=9,ny=60");
  std::vector<std::int32_t> weights(at(a.n_rows), 1);
  for (index_t column = 0; column < 60; ++column) {
    if (column % 4 != 0) weights[at(9 * column + 4)] = 40;
  }
  order_options options{.order = order_method::cpu_nested_dissection, .tree_levels = 2};
  const auto heavy_in_root = [&](const pattern_order& o) {
    return std::count_if(o.permutation.end() - o.tree_sizes[2], o.permutation.end(),
                         [&](index_t v) { return weights[at(v)] > 1; });
  };
  CHECK(heavy_in_root(order(rows_of(a), options)) > 0);
  options.weights = weights;
  const pattern_order found = order(rows_of(a), options);
  CHECK(found.tree_sizes[2] > 0);
  CHECK(heavy_in_root(found) == 0);
  CHECK(found.order == "cpu_nested_dissection");
  options.threads = 4;
  CHECK(order(rows_of(a), options).permutation == found.permutation);
  // Weights of one change nothing.
  std::ranges::fill(weights, 1);
  const pattern_order ones = order(rows_of(a), options);
  options.weights = {};
  CHECK(ones.permutation == order(rows_of(a), options).permutation);
}

TEST_CASE("groups come one after the other") {
  for (const char* spec : {"grid5:nx=30", "grid27:nx=14", "circuit:n=900,hubs=4", "arrow:n=90"}) {
    CAPTURE(spec);
    const pattern a = generate(spec);
    for (const index_t groups : {1, 2, 5, a.n_rows}) {
      std::vector<std::int32_t> group(at(a.n_rows));
      // The last ones are a boundary of the grid; others are scattered.
      for (index_t v = 0; v < a.n_rows; ++v) {
        group[at(v)] = groups == 2 ? (20 * v >= 19 * a.n_rows ? 1 : 0) : v * 7 % groups;
      }
      const pattern_order found = order(rows_of(a), {.groups = group});
      validate_permutation(found.permutation, a.n_rows, "groups");
      CHECK(std::ranges::is_sorted(found.permutation, {}, [&](index_t v) { return group[at(v)]; }));
      CHECK(found.permutation == order(rows_of(a), {.threads = 3, .groups = group}).permutation);
      const pattern_order free = order(rows_of(a));
      if (groups == 1) CHECK(found.permutation == free.permutation);
      if (groups == 2 && spec[0] == 'g') {
        CHECK(filled(a, found.permutation) < 2 * filled(a, free.permutation));
      }
      // The last group is at the end of the root of a tree.
      if (groups != 2) continue;
      const pattern_order tree = order(rows_of(a), {.tree_levels = 3, .groups = group});
      CHECK(std::ranges::is_sorted(tree.permutation, {}, [&](index_t v) { return group[at(v)]; }));
      CHECK(tree.tree_sizes[6] >= std::ranges::count(group, 1));
    }
  }
  const pattern arrow = generate("arrow:n=90,tip=first");
  CHECK(order(rows_of(arrow), {.longest_row = 5}).permutation.back() == 0);
}

TEST_CASE("one replica is another search") {
  const pattern a = generate("grid7:nx=14,ny=13,nz=12");
  const std::string one = "cpu_nested_dissection:replicas=1,tries=2";
  const pattern_order found = order(rows_of(a), {.order = one});
  CHECK(found.order == one);
  CHECK(found.permutation != order(rows_of(a), {.order = "cpu_nested_dissection"}).permutation);
  const std::vector<std::int32_t> ones(at(a.n_rows), 1);
  CHECK(order(rows_of(a), {.order = one, .weights = ones}).permutation == found.permutation);
  CHECK(analyze(rows_of(a), {.order = found.order}).order == one);
}

TEST_CASE("the caller's thread finds short orders, another thread the others") {
  const auto share_of_caller = [](index_t nx) {
    const pattern a = generate("grid5:nx=" + std::to_string(nx));
    const auto now = [](clockid_t clock) {
      timespec t{};
      clock_gettime(clock, &t);
      return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
    };
    const double own = now(CLOCK_THREAD_CPUTIME_ID), all = now(CLOCK_PROCESS_CPUTIME_ID);
    int calls = 0;
    const auto goes_on = [&](const analysis_progress&) { return ++calls > 0; };
    order(rows_of(a), {.order = "cpu_nested_dissection", .threads = 1, .progress = goes_on});
    CHECK(calls > 0);
    return (now(CLOCK_THREAD_CPUTIME_ID) - own) / (now(CLOCK_PROCESS_CPUTIME_ID) - all);
  };
  CHECK(share_of_caller(50) > 0.8);
  CHECK(share_of_caller(100) < 0.5);
  const auto ends = [](const analysis_progress&) { return false; };
  const pattern a = generate("grid5:nx=5");
  CHECK_THROWS_AS(order(rows_of(a), {.order = "amd", .progress = ends}), analysis_error);
}

TEST_CASE("another seed is another search") {
  const pattern a = generate("random:n=3000,degree=4");
  std::set<std::vector<std::int32_t>> found;
  for (const std::int64_t seed : {-1, 1, 2, 1}) {
    found.insert(order(rows_of(a), {.order = order_method::cpu_nested_dissection, .seed = seed})
                     .permutation);
  }
  CHECK(found.size() == 3);
}

TEST_CASE("order() refuses what is wrong with one line, and has an answer for order 0") {
  const pattern a = generate("grid5:nx=5,ny=4");
  const auto message = [&](const order_options& o) -> std::string {
    try {
      order(rows_of(a), o);
      return "";
    } catch (const invalid_input& e) {
      return e.what();
    }
  };
  const std::vector<std::int32_t> weights(20, 1), few(19, 1), nil(20, 0), large(20, 1 << 30);
  CHECK(message({.weights = weights}).empty());
  CHECK(message({.weights = few}) == "weights: 19 for 20 vertices");
  CHECK(message({.weights = nil}) == "weights: vertex 0 has weight 0, which is not 1 or more");
  CHECK(message({.order = order_method::amd, .weights = weights}) ==
        "weights: only the orders automatic and cpu_nested_dissection take them");
  CHECK_THROWS_AS(order(rows_of(a), {.weights = large}), analysis_error);
  CHECK(message({.groups = nil}).empty());
  CHECK(message({.groups = few}) == "groups: 19 for 20 vertices");
  const std::vector<std::int32_t> below(20, -1);
  CHECK(message({.groups = below}) == "groups: vertex 0 has group -1, which is not 0 or more");
  CHECK(message({.longest_row = -1}) == "longest_row: -1 is not 0 or more");
  CHECK(message({.order = order_method::metis, .groups = nil}) ==
        "groups, longest_row: only the order automatic takes them");
  CHECK(message({.seed = -2}) == "seed: -2 is not -1 or more");
  CHECK(message({.purpose = {.factorizations = 0}}) == "factorizations: 0 is not 1 or more");
  CHECK(message({.purpose = {.kind = static_cast<factorization_kind>(5)}}) ==
        "kind: 5 is not a factorization_kind");
  CHECK(message({.purpose = {.cores = 0}}) == "cores: 0 is not 1 or more");
  CHECK(message({.order = "cpu_nested_dissection:replicas=17"})
            .starts_with("order cpu_nested_dissection: "));
  CHECK(message({.order = "natural:replicas=1"}).starts_with("order natural: "));
  CHECK(refusal([] { return order_choice("metsi"); }).starts_with("order: 'metsi' is none of "));
  CHECK(message({.tree_levels = 25}) == "tree_levels: 25 is not in [0, 24]");
  CHECK(message({.tree_levels = -1}) == "tree_levels: -1 is not in [0, 24]");
  CHECK(message({.threads = -1}) == "threads: -1 is not 0 or more");
  CHECK(message({.order = order_method::given}) != "");
  CHECK(message({.layout = static_cast<tree_layout>(7)}) == "layout: 7 is no tree_layout");
  CHECK_THROWS_AS(order(csr_view{1, std::vector<std::int64_t>{0, 1}, std::vector<std::int32_t>{4}}),
                  invalid_input);

  const std::vector<std::int64_t> none{0};
  const pattern_order empty = order(csr_view{0, none, {}}, {.tree_levels = 2});
  CHECK(empty.permutation.empty());
  CHECK(empty.tree_sizes == std::vector<std::int32_t>{0, 0, 0});
  const std::vector<std::int64_t> lone{0, 0};  // a vertex without an entry
  CHECK(order(csr_view{1, lone, {}}).permutation == std::vector<std::int32_t>{0});

  order_options cancelled{.order = order_method::cpu_nested_dissection};
  cancelled.progress = [](const analysis_progress&) { return false; };
  CHECK_THROWS_AS(order(rows_of(a), cancelled), analysis_error);
}

}  // namespace
}  // namespace gsofa
