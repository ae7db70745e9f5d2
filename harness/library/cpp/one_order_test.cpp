// One order whatever is asked for, and the same as that of the program (common/preprocess.hpp), on
// the host and with the kernels of the device.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/generators.hpp"
#include "common/ordering.hpp"
#include "common/pattern.hpp"
#include "common/preprocess.hpp"
#include "gsofa/gsofa.hpp"
#include "reference/test_patterns.hpp"

namespace gsofa {
namespace {

using reference::testing::draw;
using reference::testing::random_pattern;

csr_view view_of(const pattern& a) { return {a.n_rows, a.row_ptr, a.col_idx}; }

const std::vector<std::pair<order_method, std::string>>& methods() {
  static const std::vector<std::pair<order_method, std::string>> all{
      {order_method::automatic, "automatic"},
      {order_method::metis, "metis"},
      {order_method::amd, "amd"},
      {order_method::amf, "amf"},
      {order_method::colamd, "colamd"},
      {order_method::natural, "natural"},
      {order_method::cpu_nested_dissection, "cpu_nested_dissection"},
      {order_method::tournament, "tournament"},
      {order_method::gpu_nested_dissection, "gpu_nested_dissection"}};
  return all;
}

// `core` with as many isolated vertices among its own as `isolated`, whose diagonals are there.
pattern spread_out(const pattern& core, index_t isolated, std::mt19937_64& engine) {
  const index_t n = core.n_rows + isolated;
  std::vector<index_t> position = identity_order(n);
  std::ranges::shuffle(position, engine);
  triplets entries{n, n, {}, {}};
  const auto put = [&](index_t i, index_t j) {
    entries.rows.push_back(position[at(i)]);
    entries.cols.push_back(position[at(j)]);
  };
  for (index_t i = 0; i < core.n_rows; ++i) {
    for (const index_t j : core.row(i)) put(i, j);
  }
  for (index_t k = core.n_rows; k < n; ++k) put(k, k);
  return from_triplets(entries, duplicates::merge);
}

struct subject {
  std::string name;
  pattern a;
  bool match;
};

std::vector<subject> subjects() {
  std::mt19937_64 engine(41);
  std::vector<subject> all;
  const auto add = [&](const std::string& name, const pattern& core, index_t isolated, bool match) {
    all.push_back({name, spread_out(core, isolated, engine), match});
  };
  add("nothing but isolated vertices", {0, 0, {0}, {}}, 70, true);
  add("a grid", generate("grid5:nx=11,ny=10"), 70, true);
  add("a grid, few", generate("grid5:nx=11,ny=10"), 2, true);
  add("hubs", generate("arrow:n=270"), 40, true);
  for (int k = 0; k < 3; ++k) {
    const pattern core = random_pattern(engine, 2 + draw(engine, 60), 1 + k % 4);
    add("random " + std::to_string(k), k % 3 == 2 ? core : with_diagonal(core),
        1 + draw(engine, 50), k % 3 == 1);
  }
  // A zero-free diagonal that is not in its place.
  const pattern cycle = generate("circuit:n=40,hubs=1");
  std::vector<index_t> next = identity_order(cycle.n_rows);
  std::ranges::rotate(next, next.begin() + 1);
  add("rows to be matched", permute(cycle, next, identity_order(cycle.n_rows)), 30, true);
  return all;
}

// Every result that may be asked for.
const std::vector<std::function<void(analysis_options&)>>& results() {
  static const std::vector<std::function<void(analysis_options&)>> all{
      [](analysis_options&) {},
      [](analysis_options& o) { o.factors = true; },
      [](analysis_options& o) { o.factor_columns = true; },
      [](analysis_options& o) { o.supernodes = true; },
      [](analysis_options& o) { o.supernodes = true, o.chunk_size = 5; },
      [](analysis_options& o) { o.supernodal = true; },
      [](analysis_options& o) { o.tree = true; },
      [](analysis_options& o) { o.masks = true; },
      [](analysis_options& o) { o.supernodal = true, o.relax = 4; },
      [](analysis_options& o) {
        static const std::vector<supernode_range> ranges{{0, 1}};
        o.relaxed = ranges;
      },
      [](analysis_options& o) {
        o.factors = true;
        o.device_memory = [](std::size_t bytes) {
          static std::vector<std::vector<std::max_align_t>> kept;
          return kept.emplace_back(bytes / sizeof(std::max_align_t) + 1).data();
        };
      },
      [](analysis_options& o) {
        o.factors = o.supernodes = o.supernodal = o.tree = o.masks = true;
      },
  };
  return all;
}

struct orders {
  std::vector<index_t> rows, columns;
  bool operator==(const orders&) const = default;
};
orders of(const analysis& f) {
  return {{f.row_order.begin(), f.row_order.end()}, {f.col_order.begin(), f.col_order.end()}};
}

// As the program finds them; nullopt: it refuses the pattern.
std::optional<orders> of_program(const subject& s, const std::string& order) {
  try {
    const prepared_pattern p = prepare(
        s.a, {.match = s.match ? match_auto : match_none, .order = order}, {});
    return orders{{p.row_order().begin(), p.row_order().end()},
                  {p.col_order().begin(), p.col_order().end()}};
  } catch (const input_error&) {
    return std::nullopt;
  }
}

// compute_device::gpu states the purpose.
std::string name_on(compute_device device, const std::string& name) {
  return name + (device == compute_device::gpu && name == "automatic" ? ":kind=gpu" : "");
}

TEST_CASE("the order is that of the program, whatever is asked for, on the host and the device") {
  int compared = 0, refused = 0;
  for (const subject& s : subjects()) {
    CAPTURE(s.name);
    for (const auto& [method, name] : methods()) {
      if (name == "metis" && !has_metis()) continue;
      CAPTURE(name);
      for (const compute_device device : {compute_device::cpu, compute_device::gpu}) {
        const std::optional<orders> expected = of_program(s, name_on(device, name));
        for (std::size_t k = 0; k < results().size(); ++k) {
          CAPTURE(k);
          CAPTURE(static_cast<int>(device));
          analysis_options options{.device = device, .match = s.match, .order = method};
          results()[k](options);
          // The leaves of the elimination tree are relaxed, which needs a postorder.
          if (options.relax > 1 && method == order_method::natural) continue;
          if (!expected) {
            CHECK_THROWS_AS(analyze(view_of(s.a), options), invalid_input);
            ++refused;
            break;
          }
          CHECK(of(analyze(view_of(s.a), options)) == *expected);
          ++compared;
        }
      }
    }
  }
  CHECK(compared > 1000);
  CHECK(refused < 100);
}

TEST_CASE("columns, estimates, analyzers and arrays of a device have that order too") {
  const std::vector<subject> all = subjects();
  for (const auto& [method, name] : methods()) {
    if (name == "metis" && !has_metis()) continue;
    CAPTURE(name);
    for (const compute_device device : {compute_device::cpu, compute_device::gpu}) {
      CAPTURE(static_cast<int>(device));
      for (const subject& s : all) {
        const std::optional<orders> found = of_program(s, name_on(device, name));
        if (!found || !s.match) continue;
        const orders there = *of_program(s, name_on(compute_device::gpu, name));
        CAPTURE(s.name);
        const analysis_options options{.device = device, .order = method};
        analysis_options by_columns = options;
        by_columns.factor_columns = true;
        const pattern columns = transpose(s.a);
        CHECK(of(analyze(csc_view{columns.n_rows, columns.row_ptr, columns.col_idx}, by_columns)) ==
              *found);
        CHECK(estimate(view_of(s.a), options).permutation == found->columns);
        CHECK(of(analyze(device_csr_view{s.a.n_rows, s.a.nnz(), s.a.row_ptr.data(),
                                         s.a.col_idx.data(), nullptr},
                         options)) == there);
        analyzer kept(options);
        for (const bool masks : {true, false}) {
          kept.options().masks = masks;
          CHECK(of(kept.analyze(view_of(s.a))) == *found);
        }
      }
    }
  }
}

// What `automatic` chooses for one factorization on a device.
constexpr const char* on_device =
    "gpu_nested_dissection:tries=2,replicas=2,room=4,stride=3,flows=0";

TEST_CASE("where the device orders by default, the requested results do not change the order") {
  const pattern large = generate("tridiagonal:n=9001");
  const orders expected = *of_program({.name = "", .a = large, .match = true}, on_device);
  for (const std::size_t k : {0, 6}) {  // by the device alone, and with a tree
    CAPTURE(k);
    analysis_options options{.device = compute_device::gpu};
    results()[k](options);
    const analysis found = analyze(view_of(large), options);
    CHECK(found.order == on_device);
    CHECK(of(found) == expected);
  }
}

TEST_CASE("order() takes the device for a large pattern, and only if it may") {
  const pattern a = generate("tridiagonal:n=9001");
  const auto found = [&](const order_options& o) { return order(view_of(a), o); };
  const pattern_order by_name = found({.order = order_method::gpu_nested_dissection});
  CHECK(by_name.permutation == compute_order(a, "gpu_nested_dissection", -1).order);
  const pattern_order asked = found({.device = compute_device::gpu});
  CHECK(asked.order == on_device);
  CHECK(asked.permutation == found({.order = on_device}).permutation);
  CHECK_FALSE(found({.device = compute_device::cpu}).order.starts_with("gpu"));
  const pattern small = generate("grid7:nx=14,ny=13,nz=12");
  CHECK(order(view_of(small), {.order = "cpu_nested_dissection:replicas=1,tries=2"}).permutation ==
        compute_order(small, "cpu_nested_dissection:replicas=1,tries=2", -1).order);
  const pattern_order there =
      order(device_csr_view{a.n_rows, a.nnz(), a.row_ptr.data(), a.col_idx.data(), nullptr},
            {.tree_levels = 3});
  CHECK(there.order == on_device);
  CHECK(there.permutation == found({.device = compute_device::gpu, .tree_levels = 3}).permutation);
}

TEST_CASE("updates of patterns in device memory are those of their copies on the host") {
  std::mt19937_64 engine(44);
  for (const order_method method : {order_method::amf, order_method::gpu_nested_dissection}) {
    analyzer here({.order = method, .supernodes = true});
    analyzer there({.order = method, .supernodes = true});
    pattern a = with_diagonal(generate("grid5:nx=30,ny=31"));
    for (int step = 0; step < 6; ++step) {
      const device_csr_view rows{a.n_rows, a.nnz(), a.row_ptr.data(), a.col_idx.data(), nullptr};
      const analysis& expected = here.update(view_of(a));
      const analysis& found = there.update(rows);
      CHECK(found.update.kind == expected.update.kind);
      CHECK(found.update.rows_changed == expected.update.rows_changed);
      CHECK(found.row_order == expected.row_order);
      CHECK(found.u_row_counts == expected.u_row_counts);
      CHECK(found.supernode_starts == expected.supernode_starts);
      CHECK(found.variant == "gpu_bitmap_panels");
      if (step == 0) CHECK(found.row_order == analyze(rows, there.options()).row_order);
      // Another neighbour for one vertex.
      triplets entries{a.n_rows, a.n_rows, {}, {}};
      for (index_t i = 0; i < a.n_rows; ++i) {
        for (const index_t j : a.row(i)) {
          entries.rows.push_back(i);
          entries.cols.push_back(j);
        }
      }
      const index_t v = draw(engine, a.n_rows - 2);
      entries.rows.insert(entries.rows.end(), {v, v + 2});
      entries.cols.insert(entries.cols.end(), {v + 2, v});
      a = from_triplets(entries, duplicates::merge);
    }
  }
}

TEST_CASE("every order of a diagonal is the natural one") {
  const pattern a = generate("diagonal:n=150");
  for (const std::string& name : available_orders()) {
    CAPTURE(name);
    CHECK(compute_order(a, name, -1).order == identity_order(a.n_rows));
  }
}

}  // namespace
}  // namespace gsofa
