// libgsofa_metis as a program has it that links it before METIS. Compiled once for each width of
// idx_t (GSOFA_METIS_INDEX_BITS). The suites run in processes of their own: `alone` and `ranks`
// without another METIS, the width in the environment, `next` with a METIS of this width behind the
// drop-in, `both` with a copy of the drop-in in front whose name says the width, `plugins` with
// plugins that have a METIS of the other width, or a function of their own with a name of METIS.

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "gsofa/gsofa.hpp"
#include "harness/library/metis/metis_functions.hpp"
#include "harness/testing/processes.hpp"
#ifdef GSOFA_FAILING_MALLOC
#include "harness/testing/failing_malloc.hpp"
#endif

namespace {

using gsofa::testing::environment;
using gsofa::testing::times_in;

constexpr int ok = 1, error_input = -2, error_memory = -3;
constexpr idx_t untouched = 77;

struct test_graph {
  std::vector<idx_t> xadj{0}, adjncy;
  [[nodiscard]] idx_t n() const { return static_cast<idx_t>(xadj.size()) - 1; }
};

// A grid of nx columns and ny rows; vertex y nx + x.
test_graph grid(idx_t nx, idx_t ny) {
  test_graph g;
  for (idx_t v = 0; v < nx * ny; ++v) {
    if (v >= nx) g.adjncy.push_back(v - nx);
    if (v % nx != 0) g.adjncy.push_back(v - 1);
    if (v % nx != nx - 1) g.adjncy.push_back(v + 1);
    if (v + nx < nx * ny) g.adjncy.push_back(v + nx);
    g.xadj.push_back(static_cast<idx_t>(g.adjncy.size()));
  }
  return g;
}

struct options_array {
  std::array<idx_t, 40> value{};
  options_array() { METIS_SetDefaultOptions(value.data()); }
};

struct answer {
  int status = 0;
  std::vector<idx_t> perm, iperm, sizes;
  bool operator==(const answer&) const = default;
};

answer empty_answer(const test_graph& g, idx_t parts = 1) {
  const auto n = static_cast<std::size_t>(g.n());
  return {0, std::vector<idx_t>(n, untouched), std::vector<idx_t>(n, untouched),
          std::vector<idx_t>(static_cast<std::size_t>(2 * parts - 1), untouched)};
}

answer nodend(test_graph g, std::vector<idx_t> weights = {}, idx_t* options = nullptr) {
  answer out = empty_answer(g);
  idx_t n = g.n();
  out.status =
      METIS_NodeND(&n, g.xadj.data(), g.adjncy.data(), weights.empty() ? nullptr : weights.data(),
                   options, out.perm.data(), out.iperm.data());
  return out;
}

answer nodendp(test_graph g, idx_t parts, std::vector<idx_t> weights = {}) {
  answer out = empty_answer(g, parts);
  out.status = METIS_NodeNDP(g.n(), g.xadj.data(), g.adjncy.data(),
                             weights.empty() ? nullptr : weights.data(), parts, nullptr,
                             out.perm.data(), out.iperm.data(), out.sizes.data());
  return out;
}

bool is_order(const answer& a, idx_t base = 0) {
  std::vector<idx_t> sorted = a.perm;
  std::ranges::sort(sorted);
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    if (sorted[k] != static_cast<idx_t>(k) + base) return false;
    if (a.iperm[static_cast<std::size_t>(a.perm[k] - base)] != sorted[k]) return false;
  }
  return a.status == ok;
}

double operations(const test_graph& g, const answer& a) {
  const std::vector<std::int32_t> order(a.perm.begin(), a.perm.end());
  return gsofa::estimate(
             gsofa::basic_csr_view<idx_t, idx_t>{g.n(), g.xadj, g.adjncy},
             {.match = false, .order = gsofa::order_method::given, .permutation = order})
      .flops;
}

// Entries between two nodes of the tree of which neither is above the other: METIS lists nodes by
// level from the deepest, each level from left to right, and numbers left subtree, right subtree,
// separator. The weight of a node is the sum of its vertices' weights.
int crossing_entries(const test_graph& g, const answer& a, const std::vector<idx_t>& weights = {}) {
  const std::size_t nodes = a.sizes.size();
  std::vector<std::size_t> node_of(static_cast<std::size_t>(g.n()));
  std::size_t next = 0;
  // Nodes as in a heap: 1 is the root, 2 k and 2 k + 1 are the children of k.
  const auto visit = [&](const auto& self, std::size_t k) -> void {
    if (2 * k <= nodes) {
      self(self, 2 * k);
      self(self, 2 * k + 1);
    }
    // METIS: the root is last, and of two children the left one is first.
    std::size_t depth_begin = 1;
    while (2 * depth_begin <= k) depth_begin *= 2;
    idx_t left = a.sizes[nodes + 1 - 2 * depth_begin + (k - depth_begin)];
    while (left > 0) {
      const auto v = static_cast<std::size_t>(a.perm[next++]);
      node_of[v] = k;
      left -= weights.empty() ? 1 : weights[v];
    }
    REQUIRE(left == 0);
  };
  visit(visit, 1);
  REQUIRE(next == node_of.size());
  int crossing = 0;
  for (std::size_t v = 0; v < node_of.size(); ++v) {
    for (idx_t p = g.xadj[v]; p < g.xadj[v + 1]; ++p) {
      std::size_t i = node_of[v], j = node_of[static_cast<std::size_t>(g.adjncy[p])];
      while (i > j) i /= 2;
      while (j > i) j /= 2;
      crossing += i != j;
    }
  }
  return crossing;
}

// What a process that runs `body` writes.
std::string said_by(const std::function<void()>& body) {
  const auto [text, status] = gsofa::testing::end_of([&] { return body(), 0; });
  CHECK(status == 0);
  return text;
}

}  // namespace

TEST_SUITE_BEGIN("alone");

TEST_CASE("an order and its inverse, numbered from 0 and from 1, with and without options") {
  const test_graph g = grid(30, 20);
  const answer plain = nodend(g);
  CHECK(is_order(plain));
  CHECK(operations(g, plain) < 200'000);
  options_array options;
  CHECK(nodend(g, {}, options.value.data()) == plain);
  // METIS 5.1 and 5.2 have the numbering at different places.
  for (const std::size_t place : {17, 18}) {
    test_graph from_one = g;
    for (auto* part : {&from_one.xadj, &from_one.adjncy}) {
      for (idx_t& v : *part) ++v;
    }
    options_array numbered;
    numbered.value[place] = 1;
    const answer same = nodend(from_one, {}, numbered.value.data());
    CHECK(is_order(same, 1));
    CHECK(std::ranges::equal(same.perm, plain.perm, {}, [](idx_t v) { return v - 1; }));
  }
  test_graph nothing;
  CHECK(nodend(nothing).status == ok);
  idx_t n = 0;
  CHECK(METIS_NodeND(&n, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) == ok);
  CHECK(is_order(nodend({.xadj = {0, 0, 0, 0}, .adjncy = {}})));
}

TEST_CASE("neighbours may be repeated") {
  test_graph g{.xadj = {0, 6, 12, 12}, .adjncy = std::vector<idx_t>(12, 1)};
  std::fill_n(g.adjncy.begin() + 6, 6, 0);
  CHECK(is_order(nodend(g)));
}

TEST_CASE("the same arguments give the same order, the seed another one") {
  const environment forgets("GSOFA_REUSE", "off");
  const environment dissects("GSOFA_ORDER", "cpu_nested_dissection");
  const test_graph g = grid(60, 60);
  const answer plain = nodend(g);
  CHECK(nodend(g) == plain);
  options_array options;
  options.value[8] = 5;
  const answer seeded = nodend(g, {}, options.value.data());
  CHECK(is_order(seeded));
  CHECK(seeded.perm != plain.perm);
  for (const char* threads : {"1", "3"}) {
    const environment set("GSOFA_THREADS", threads);
    CHECK(nodend(g) == plain);
  }
}

TEST_CASE("separators have small weight") {
  const test_graph g = grid(31, 31);
  std::vector<idx_t> weights(961, 1);
  // Heavy columns and rows in the middle, where separators of equal parts would be.
  for (idx_t k = 0; k < 31; ++k) {
    for (const idx_t v : {15 + 31 * k, 465 + k}) weights[static_cast<std::size_t>(v)] = 40;
  }
  const answer plain = nodendp(g, 2);
  const answer weighted = nodendp(g, 2, weights);
  CHECK(is_order(weighted));
  CHECK(crossing_entries(g, weighted, weights) == 0);
  idx_t weight_of_plain = 0;
  for (auto v = plain.perm.end() - plain.sizes[2]; v != plain.perm.end(); ++v) {
    weight_of_plain += weights[static_cast<std::size_t>(*v)];
  }
  CHECK(weighted.sizes[2] < 200);
  CHECK(weighted.sizes[2] < weight_of_plain);
  CHECK(nodend(g, std::vector<idx_t>(961, 7)) == nodend(g));
  // 0 and large weights are weights too.
  weights[3] = 0;
  weights[4] = std::numeric_limits<idx_t>::max() / 2;
  CHECK(is_order(nodend(g, weights)));
}

TEST_CASE("the tree of METIS_NodeNDP") {
  for (const test_graph& g : {grid(40, 25), grid(3, 2), grid(1, 1), grid(200, 1)}) {
    for (const idx_t parts : {2, 4, 16}) {
      CAPTURE(g.n());
      CAPTURE(parts);
      const answer a = nodendp(g, parts);
      REQUIRE(is_order(a));
      CHECK(std::accumulate(a.sizes.begin(), a.sizes.end(), idx_t{0}) == g.n());
      CHECK(crossing_entries(g, a) == 0);
    }
  }
  const answer a = nodendp(grid(40, 25), 4);
  CHECK(a.sizes[6] <= 30);
  for (const std::size_t leaf : {0, 1, 2, 3}) CHECK(a.sizes[leaf] > 150);
  // METIS writes no size of a tree of one node.
  const answer one = nodendp(grid(40, 25), 1);
  CHECK(is_order(one));
  CHECK(one.sizes[0] == untouched);
}

TEST_CASE("what is no graph is an error of the input, and nothing is written") {
  const test_graph g = grid(6, 5);
  const auto refused = [&](const test_graph& wrong, std::vector<idx_t> weights = {}) {
    answer nothing = empty_answer(wrong);
    nothing.status = error_input;
    CHECK(nodend(wrong, std::move(weights)) == nothing);
  };
  test_graph wrong = g;
  wrong.xadj[0] = 1;
  refused(wrong);
  wrong = g;
  wrong.xadj[3] = wrong.xadj[2] - 1;
  refused(wrong);
  for (const idx_t target : {-1, 30, 1 << 30}) {
    wrong = g;
    wrong.adjncy[7] = target;
    refused(wrong);
  }
  std::vector<idx_t> weights(30, 1);
  weights[29] = -1;
  refused(g, weights);
  options_array from_one;
  from_one.value[17] = 1;
  CHECK(nodend(g, {}, from_one.value.data()).status == error_input);
  idx_t n = 30;
  test_graph own = g;
  std::vector<idx_t> order(30);
  CHECK(METIS_NodeND(nullptr, own.xadj.data(), own.adjncy.data(), nullptr, nullptr, order.data(),
                     order.data()) == error_input);
  CHECK(METIS_NodeND(&n, nullptr, own.adjncy.data(), nullptr, nullptr, order.data(),
                     order.data()) == error_input);
  CHECK(METIS_NodeND(&n, own.xadj.data(), nullptr, nullptr, nullptr, order.data(), order.data()) ==
        error_input);
  CHECK(METIS_NodeND(&n, own.xadj.data(), own.adjncy.data(), nullptr, nullptr, nullptr, nullptr) ==
        error_input);
  n = -1;
  CHECK(METIS_NodeND(&n, own.xadj.data(), own.adjncy.data(), nullptr, nullptr, order.data(),
                     order.data()) == error_input);
  CHECK(nodendp(g, 3).status == error_input);
  CHECK(nodendp(g, 4).status == ok);
}

TEST_CASE("arrays of the other width are refused without a read beyond their end") {
  using other_idx = std::conditional_t<sizeof(idx_t) == 4, std::int64_t, std::int32_t>;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* const memory = static_cast<char*>(
      mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(memory != MAP_FAILED);
  REQUIRE(mprotect(memory + 2 * page, page, PROT_NONE) == 0);
  for (const idx_t isolated : {0, 1, 2, 4, 5}) {
    CAPTURE(isolated);
    // An even number of pointers: the wrong reads are aligned.
    test_graph g = isolated % 2 == 0 ? grid(7, 9) : grid(8, 8);
    g.xadj.insert(g.xadj.begin(), static_cast<std::size_t>(isolated), 0);
    std::vector<other_idx> adjncy(g.adjncy.begin(), g.adjncy.end());
    auto* const xadj = reinterpret_cast<other_idx*>(memory + 2 * page) - g.xadj.size();
    std::ranges::copy(g.xadj, xadj);
    std::array<other_idx, 2> n{static_cast<other_idx>(g.n()), 0};
    std::vector<std::int64_t> order(g.xadj.size(), untouched);
    CHECK(METIS_NodeND(reinterpret_cast<idx_t*>(n.data()), reinterpret_cast<idx_t*>(xadj),
                       reinterpret_cast<idx_t*>(adjncy.data()), nullptr, nullptr,
                       reinterpret_cast<idx_t*>(order.data()),
                       reinterpret_cast<idx_t*>(order.data())) == error_input);
    CHECK(std::ranges::all_of(order, [](std::int64_t v) { return v == untouched; }));
  }
  munmap(memory, 3 * page);
}

TEST_CASE("threads may call at the same time, and rand() is the caller's") {
  const test_graph g = grid(50, 50);
  setenv("GSOFA_REUSE", "off", 1);
  const answer expected = nodend(g);
  unsetenv("GSOFA_REUSE");
  std::srand(5);
  const int drawn = std::rand();
  std::srand(5);
  std::array<bool, 4> same{};
  {
    std::vector<std::jthread> threads;
    threads.reserve(same.size());
    for (bool& one : same) {
      threads.emplace_back([&] {
        one = true;
        for (int k = 0; k < 5; ++k) one = one && nodend(g) == expected;
      });
    }
  }
  CHECK(std::ranges::all_of(same, std::identity()));
  CHECK(std::rand() == drawn);
}

TEST_CASE("what the environment says") {
  const test_graph g = grid(20, 20);
  const std::string text = said_by([&] {
    const environment verbose("GSOFA_VERBOSE", "1");
    const environment order("GSOFA_ORDER", "amd");
    options_array options;
    options.value[12] = 0;
    for (int k = 0; k < 2; ++k) static_cast<void>(nodend(g, {}, options.value.data()));
    const environment unknown("GSOFA_ORDER", "fast");
    const environment none("GSOFA_THREADS", "0");
    for (int k = 0; k < 2; ++k) static_cast<void>(nodend(g));
    // With a device or without one, there is an order.
    const environment device("GSOFA_ORDER", "gpu_nested_dissection");
    if (!is_order(nodend(g))) _exit(1);
  });
  CHECK(times_in(text, "gsofa: METIS_NodeND: n 400, 1520 entries, ") == 5);
  CHECK(times_in(text, ", amd, cpu, threads 1, ") == 1);
  CHECK(times_in(text, ", amd, cpu, remembered, ") == 1);
  CHECK(times_in(text, "METIS_NodeND ignores options of METIS: 12=0\n") == 1);
  CHECK(times_in(text, "gsofa: GSOFA_ORDER: order: 'fast' is none of automatic, ") == 1);
  CHECK(times_in(text, "gsofa: GSOFA_THREADS is '0', not a number of threads") == 1);
  const environment off("GSOFA_METIS", "off");
  CHECK(said_by([&] {
          if (nodend(g).status != error_input) _exit(1);
        }) == "gsofa: METIS_NodeND: GSOFA_METIS is off, and there is no other METIS to call\n");
}

TEST_CASE("an equal graph gets the order of a fresh process, another one its own") {
  const test_graph g = grid(23, 19), far = grid(19, 23);
  test_graph same_sizes = g;
  std::swap(same_sizes.adjncy[0], same_sizes.adjncy[1]);
  const std::vector<idx_t> ones(437, 1);
  options_array seeded;
  seeded.value[8] = 3;
  using call = std::function<answer()>;
  const std::vector<call> calls{[&] { return nodend(g); },
                                [&] { return nodend(far); },
                                [&] { return nodend(same_sizes); },
                                [&] { return nodend(g, ones); },
                                [&] { return nodend(g, {}, seeded.value.data()); },
                                [&] { return nodendp(g, 2); },
                                [&] { return nodendp(g, 4); },
                                [&] {
                                  const environment amd("GSOFA_ORDER", "amd");
                                  return nodend(g);
                                }};
  std::vector<answer> fresh;
  setenv("GSOFA_REUSE", "off", 1);
  for (const call& c : calls) fresh.push_back(c());
  unsetenv("GSOFA_REUSE");
  const environment verbose("GSOFA_VERBOSE", "1");
  // A process that is forked knows what its parent knew.
  for (const std::string how : {", threads 1, ", ", remembered, "}) {
    const auto all_as_fresh = [&] {
      for (std::size_t k = 0; k < calls.size(); ++k) {
        if (calls[k]() != fresh[k]) _exit(1);
      }
    };
    CHECK(times_in(said_by(all_as_fresh), how) == 8);
    all_as_fresh();
  }
}

TEST_CASE("the graphs used last are remembered within the budget") {
  const environment amd("GSOFA_ORDER", "amd");  // saves time
  // Two of the first three graphs fit into a MiB, the last one does not.
  const idx_t columns = 800 / sizeof(idx_t);
  const std::array<test_graph, 4> graphs{grid(columns, 100), grid(columns, 101), grid(columns, 99),
                                         grid(columns, 250)};
  const auto remembered = [&](const char* budget, std::initializer_list<std::size_t> sequence) {
    return times_in(said_by([&] {
                      const environment mebibytes("GSOFA_REUSE", budget);
                      const environment verbose("GSOFA_VERBOSE", "1");
                      for (const std::size_t k : sequence) static_cast<void>(nodend(graphs[k]));
                    }),
                    "remembered");
  };
  CHECK(remembered("1", {0, 1, 0, 2, 0}) == 2);
  CHECK(remembered("1", {0, 1, 0, 2, 1}) == 1);
  CHECK(remembered("1", {0, 3, 3, 0}) == 1);
  CHECK(remembered("off", {0, 0}) == 0);
}

TEST_CASE(
    "GSOFA_REUSE=adapt adapts the order of the last graph, except in a job of several ranks") {
  const test_graph g = grid(60, 50);
  test_graph changed = g;  // without the edge of vertices 0 and 1
  changed.adjncy.erase(changed.adjncy.begin() + changed.xadj[1]);
  changed.adjncy.erase(changed.adjncy.begin());
  for (std::size_t v = 1; v < changed.xadj.size(); ++v) changed.xadj[v] -= v == 1 ? 1 : 2;
  const answer fresh = nodend(changed);
  const auto calls = [&] {
    const environment adapt("GSOFA_REUSE", "adapt");
    const environment verbose("GSOFA_VERBOSE", "1");
    const answer first = nodend(g), found = nodend(changed);
    const bool is_alone = std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr;
    if (!is_order(found) || (found == fresh) == is_alone) _exit(1);
    if (is_alone && operations(changed, found) > operations(g, first)) _exit(2);
  };
  CHECK(times_in(said_by(calls), ", adapted, cpu") == 1);
  const environment ranks("OMPI_COMM_WORLD_SIZE", "2");
  CHECK(times_in(said_by(calls), "GSOFA_REUSE=adapt: the ranks of a job need equal orders") == 1);
}

TEST_CASE("the names of Fortran and of the METIS inside CHOLMOD") {
  test_graph g = grid(9, 7);
  const answer expected = nodend(g);
  for (const char* name : {"METIS_NODEND", "metis_nodend", "metis_nodend_", "metis_nodend__"}) {
    CAPTURE(name);
    const auto function = reinterpret_cast<decltype(METIS_NodeND)*>(dlsym(RTLD_DEFAULT, name));
    REQUIRE((function != nullptr));
    idx_t n = g.n();
    answer out = empty_answer(g);
    out.status = function(&n, g.xadj.data(), g.adjncy.data(), nullptr, nullptr, out.perm.data(),
                          out.iperm.data());
    CHECK(out == expected);
  }
  CHECK(METIS_Free(std::malloc(8)) == ok);
  // CHOLMOD's own METIS has indices of 64 bits.
  std::vector<std::int64_t> xadj(g.xadj.begin(), g.xadj.end());
  std::vector<std::int64_t> adjncy(g.adjncy.begin(), g.adjncy.end());
  std::vector<std::int64_t> perm(63), iperm(63);
  std::int64_t n = 63;
  CHECK(SuiteSparse_metis_METIS_NodeND(&n, xadj.data(), adjncy.data(), nullptr, nullptr,
                                       perm.data(), iperm.data()) == ok);
  CHECK(std::ranges::equal(perm, expected.perm));
  CHECK(std::ranges::equal(iperm, expected.iperm));
}

#ifdef GSOFA_FAILING_MALLOC
TEST_CASE("where the system refuses threads the order is the same") {
  const test_graph g = grid(300, 200);
  const environment forgets("GSOFA_REUSE", "off");
  const answer expected = nodend(g);
  const environment threads("GSOFA_THREADS", "8");
  for (const long count : {0, 2, 20}) {
    allow_threads(count);
    const answer found = nodend(g);
    allow_threads(std::numeric_limits<long>::max());
    CHECK(found == expected);
  }
}

TEST_CASE("where memory is short nothing is written") {
  enum : int { right = 10, refused = 20, never_failed = 30, wrong = 40 };
  const test_graph g = grid(12, 11);
  const answer expected = nodendp(g, 4);
  setenv("GSOFA_REUSE", "off", 1);
  long made = 0;
  const auto call_with_failing = [&](long k) {
    test_graph own = g;
    answer out = empty_answer(g, 4);
    fail_allocations(k, k);
    out.status = METIS_NodeNDP(own.n(), own.xadj.data(), own.adjncy.data(), nullptr, 4, nullptr,
                               out.perm.data(), out.iperm.data(), out.sizes.data());
    made = allocations_made();
    fail_allocations(0, 0);
    if (out == expected) return made < k ? never_failed : right;
    answer nothing = empty_answer(g, 4);
    nothing.status = error_memory;
    return out == nothing ? refused : wrong;
  };
  int times_refused = 0, end = 0;
  for (long k = 1; end != never_failed; ++k) {
    CAPTURE(k);
    end = call_with_failing(k);
    CHECK((end == right || end == refused || end == never_failed));
    times_refused += end == refused;
    REQUIRE(k < 10000);
  }
  CHECK(times_refused > 20);
  // No call fails because an order cannot be remembered.
  unsetenv("GSOFA_REUSE");
  std::string said;
  for (long k = made + 1; said != "all done"; ++k) {
    said = said_by([&] {
      const int outcome = call_with_failing(k);
      if (outcome == never_failed) std::fputs("all done", stderr);
      if (outcome != never_failed && outcome != right) _exit(1);
    });
    REQUIRE(k < made + 30);
  }
}
#endif

TEST_SUITE_END();

TEST_SUITE_BEGIN("next");

namespace {
// The orders of the METIS behind the drop-in, called by it and without it.
answer order_of(void* library, test_graph g) {
  const auto function = reinterpret_cast<decltype(METIS_NodeND)*>(dlsym(library, "METIS_NodeND"));
  REQUIRE((function != nullptr));
  options_array options;
  idx_t n = g.n();
  answer out = empty_answer(g);
  out.status = function(&n, g.xadj.data(), g.adjncy.data(), nullptr, options.value.data(),
                        out.perm.data(), out.iperm.data());
  return out;
}
}  // namespace

TEST_CASE(
    "the METIS behind the drop-in is called if the drop-in is off, and for what is no graph") {
  void* const library = dlopen(GSOFA_NEXT_METIS, RTLD_NOW | RTLD_GLOBAL);
  REQUIRE(library != nullptr);
  const test_graph g = grid(25, 25);
  const answer expected = order_of(library, g);
  REQUIRE(is_order(expected));
  options_array options;
  CHECK(options.value[7] == -1);
  const answer own = nodend(g, {}, options.value.data());
  CHECK(is_order(own));
  CHECK(own != expected);
  CHECK(operations(g, own) < 1.3 * operations(g, expected));
  {
    const environment off("GSOFA_METIS", "off");
    CHECK(nodend(g, {}, options.value.data()) == expected);
  }
  CHECK(nodend(g, {}, options.value.data()) == own);
  // Arguments that METIS takes and the drop-in does not.
  if (sizeof(idx_t) == 8) {
    CHECK(nodend(g, std::vector<idx_t>(625, -1), options.value.data()) == expected);
  } else {
    CHECK(is_order(nodendp(g, 3)));
  }
}

TEST_CASE("the order metis is that of METIS") {
  if (!gsofa::has_metis() || sizeof(idx_t) != 4) return;
  void* const library = dlopen(GSOFA_NEXT_METIS, RTLD_NOW | RTLD_GLOBAL);
  REQUIRE(library != nullptr);
  const environment order("GSOFA_ORDER", "metis");
  const test_graph g = grid(25, 25);
  CHECK(nodend(g) == order_of(library, g));
}

TEST_CASE("METIS_NodeNDP of METIS has that tree too") {
  if (sizeof(idx_t) != 4) return;
  REQUIRE(dlopen(GSOFA_NEXT_METIS, RTLD_NOW | RTLD_GLOBAL) != nullptr);
  const environment off("GSOFA_METIS", "off");
  const test_graph g = grid(40, 25);
  std::vector<idx_t> weights(1000);
  for (std::size_t v = 0; v < 1000; ++v) weights[v] = static_cast<idx_t>(1 + v % 3);
  for (const idx_t parts : {2, 4, 8}) {
    const answer plain = nodendp(g, parts);
    REQUIRE(is_order(plain));
    CHECK(crossing_entries(g, plain) == 0);
    const answer weighted = nodendp(g, parts, weights);
    CHECK(crossing_entries(g, weighted, weights) == 0);
  }
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("both");

// LD_PRELOAD has put a copy named libgsofa_metis64.so in front of this one, and there is no METIS.
TEST_CASE("two drop-ins do not call each other for ever; the name of the first one means 64 bits") {
  std::array<idx_t, 41> options{};
  METIS_SetDefaultOptions(options.data());
  CHECK(options[39] == -1);
  CHECK(options[40] == 0);
  CHECK(is_order(nodend(grid(25, 25), {}, options.data())));
  {
    const environment off("GSOFA_METIS", "off");
    CHECK(nodend(grid(25, 25)).status == error_input);
  }
  const environment bits("GSOFA_METIS_INDEX_BITS", "32");
  CHECK(nodend(grid(25, 25)).status == error_input);
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("plugins");

#ifdef GSOFA_OTHER_CALLER
TEST_CASE("a plugin's own METIS is found, also next to one of the other width") {
  void* const plugin = dlopen(GSOFA_OTHER_CALLER, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(plugin != nullptr);
  using other_idx = std::int64_t;
  const auto call = reinterpret_cast<int (*)(other_idx*, other_idx*, other_idx*, other_idx*,
                                             other_idx*, other_idx*)>(dlsym(plugin, "call_nodend"));
  REQUIRE((call != nullptr));
  const test_graph g = grid(25, 25);
  const answer own = nodend(g);
  const auto check = [&](bool is_off) {
    std::vector<other_idx> xadj(g.xadj.begin(), g.xadj.end());
    std::vector<other_idx> adjncy(g.adjncy.begin(), g.adjncy.end());
    std::vector<other_idx> perm(625, untouched), iperm(625, untouched);
    std::array<other_idx, 41> options{};
    other_idx n = 625;
    CHECK(call(&n, xadj.data(), adjncy.data(), options.data(), perm.data(), iperm.data()) == ok);
    CHECK(options[39] == -1);
    CHECK(options[40] == 0);
    CHECK(std::ranges::equal(perm, own.perm) == !is_off);
    CHECK(std::ranges::equal(iperm, own.iperm) == !is_off);
    CHECK((perm.front() == 624) == is_off);  // the reverse, by the plugin's METIS
  };
  check(false);
  setenv("GSOFA_METIS", "off", 1);
  check(true);
  CHECK(nodend(g).status == error_input);
  REQUIRE(dlopen(GSOFA_NEXT_METIS, RTLD_NOW | RTLD_GLOBAL) != nullptr);
  check(true);
  CHECK(is_order(nodend(g)));
  unsetenv("GSOFA_METIS");
  check(false);
  CHECK(nodend(g) == own);
}
#endif

#ifdef GSOFA_FAKE_HSL
TEST_CASE("a name of METIS that another library defines for itself is called unchanged") {
  if (std::string(GSOFA_NEXT_METIS) != "") {
    REQUIRE(dlopen(GSOFA_NEXT_METIS, RTLD_NOW | RTLD_GLOBAL) != nullptr);
  }
  void* const hsl = dlopen(GSOFA_FAKE_HSL, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(hsl != nullptr);
  const auto has_metis = reinterpret_cast<bool (*)()>(dlsym(hsl, "has_metis"));
  REQUIRE((has_metis != nullptr));
  CHECK(!has_metis());
  const environment off("GSOFA_METIS", "off");
  CHECK(!has_metis());
}
#endif

TEST_SUITE_END();

TEST_SUITE_BEGIN("ranks");

TEST_CASE("a rank of several does not take another order if its device fails") {
  const environment order("GSOFA_ORDER", "gpu_nested_dissection");
  const bool has_device = [] {
    for (const auto& v : gsofa::variants()) {
      if (v.name == "gpu_bitmap_panels") return v.unavailable.empty();
    }
    return false;
  }();
  if (has_device) return;
  CHECK(is_order(nodend(grid(25, 25))));
  const environment ranks("OMPI_COMM_WORLD_SIZE", "2");
  const answer refused = nodend(grid(25, 25));
  CHECK(refused.status == -4);
  CHECK(refused.perm.front() == untouched);
}

TEST_CASE("a graph with a million entries has an order, as one of several ranks the same") {
  const test_graph g = grid(560, 450);  // 1,005,980 entries
  const environment forgets("GSOFA_REUSE", "off");
  CHECK(is_order(nodend(g)));
  const environment ranks("OMPI_COMM_WORLD_SIZE", "2");
  const environment of_openmp("OMP_NUM_THREADS", "1");
  const environment verbose("GSOFA_VERBOSE", "1");
  const std::string text = said_by([&] {
    if (!is_order(nodend(g))) _exit(1);
    const environment threads("GSOFA_THREADS", "3");
    if (!is_order(nodend(g))) _exit(1);
  });
  CHECK(times_in(text, ", cpu, threads 1, ") == 1);
  CHECK(times_in(text, ", cpu, threads 3, ") == 1);
}

TEST_SUITE_END();
