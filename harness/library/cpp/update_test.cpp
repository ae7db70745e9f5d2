// analyzer::update(): the results are those of its order whatever came before, and its order costs
// little more than a new one.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "common/generators.hpp"
#include "common/ordering.hpp"
#include "common/pattern.hpp"
#include "common/preprocess.hpp"
#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/test_analyses.hpp"
#include "reference/test_patterns.hpp"

namespace gsofa {
namespace {

using namespace library::testing;
using reference::testing::draw;
using reference::testing::random_pattern;

using rows_of_sets = std::vector<std::set<index_t>>;

pattern pattern_of_sets(const rows_of_sets& rows) {
  return reference::testing::from_rows([&] {
    std::vector<std::vector<index_t>> lists;
    for (const auto& row : rows) lists.emplace_back(row.begin(), row.end());
    return lists;
  }());
}

rows_of_sets sets_of(const pattern& a) {
  rows_of_sets rows(at(a.n_rows));
  for (index_t i = 0; i < a.n_rows; ++i) rows[at(i)] = {a.row(i).begin(), a.row(i).end()};
  return rows;
}

// A sequence of patterns.
struct history {
  std::mt19937_64 engine;
  rows_of_sets rows;
  bool symmetric = true;
  std::vector<std::int32_t> previous{};  // of the last step; empty: the same rows

  [[nodiscard]] index_t n() const { return static_cast<index_t>(rows.size()); }
  void set(index_t i, index_t j, bool in) {
    if (in) {
      rows[at(i)].insert(j);
    } else {
      rows[at(i)].erase(j);
    }
    if (symmetric && i != j) {
      if (in) {
        rows[at(j)].insert(i);
      } else {
        rows[at(j)].erase(i);
      }
    }
  }
  // Adds and drops entries off the diagonal.
  void edit(int entries) {
    previous.clear();
    for (int k = 0; k < entries && n() > 1; ++k) {
      const index_t i = draw(engine, n());
      const index_t j = draw(engine, n());
      if (i != j) set(i, j, !rows[at(i)].contains(j));
    }
  }
  // Removes and adds vertices and gives the others new numbers.
  void renumber(index_t removed, index_t added) {
    std::vector<index_t> old = identity_order(n());
    std::ranges::shuffle(old, engine);
    old.resize(at(std::max(0, n() - removed)));
    old.insert(old.end(), at(added), -1);
    std::ranges::shuffle(old, engine);
    std::vector<index_t> now(rows.size(), -1);
    for (std::size_t v = 0; v < old.size(); ++v) {
      if (old[v] >= 0) now[at(old[v])] = static_cast<index_t>(v);
    }
    rows_of_sets next(old.size());
    for (std::size_t v = 0; v < old.size(); ++v) {
      next[v].insert(static_cast<index_t>(v));
      if (old[v] == -1) continue;
      for (const index_t j : rows[at(old[v])]) {
        if (now[at(j)] >= 0) next[v].insert(now[at(j)]);
      }
    }
    rows = std::move(next);
    for (std::size_t v = 0; v < old.size(); ++v) {
      for (int k = 0; old[v] == -1 && k < 3; ++k)
        set(static_cast<index_t>(v), draw(engine, n()), true);
    }
    previous.assign(old.begin(), old.end());
  }
};

// The analysis of `a` with this order, by options that may ask for more.
void check_is_fresh(const pattern& a, const analysis& found, analysis_options options) {
  const std::vector<std::int32_t> order = found.col_order;
  options.order = order_method::given;
  options.permutation = order;
  const analysis fresh = analyze(view_of(a), options);
  CHECK(found.n == fresh.n);
  CHECK(found.row_order == fresh.row_order);
  CHECK(found.col_order == fresh.col_order);
  CHECK(found.nnz_a == fresh.nnz_a);
  CHECK(found.diagonal_added == fresh.diagonal_added);
  CHECK(found.nnz_l == fresh.nnz_l);
  CHECK(found.nnz_u == fresh.nnz_u);
  CHECK(found.l_row_counts == fresh.l_row_counts);
  CHECK(found.u_row_counts == fresh.u_row_counts);
  CHECK(found.l.row_ptr == fresh.l.row_ptr);
  CHECK(found.l.col_idx == fresh.l.col_idx);
  CHECK(found.u.col_idx == fresh.u.col_idx);
  CHECK(found.supernode_starts == fresh.supernode_starts);
  CHECK(found.supernodal.rows == fresh.supernodal.rows);
  CHECK(found.parent == fresh.parent);
  CHECK(found.l_col_counts == fresh.l_col_counts);
  CHECK(found.flops == fresh.flops);
  CHECK(found.masks.masks == fresh.masks.masks);
  CHECK(found.variant == fresh.variant);
}

// Whether the order is the last one without the rows that are gone.
bool is_kept(const analysis& found, std::vector<std::int32_t> last,
             const std::vector<std::int32_t>& previous) {
  std::vector<std::int32_t> now = found.col_order;
  if (!previous.empty()) {
    for (auto& v : now) v = previous[at(v)];
    std::erase_if(last, [&](std::int32_t v) { return std::ranges::find(now, v) == now.end(); });
  }
  return now == last;
}

double operations_of(const analysis& f) {
  double sum = 0;
  for (const double u : f.u_row_counts) sum += (u - 1) + 2 * (u - 1) * (u - 1);
  return sum;
}

TEST_CASE("updates are the analysis of their order, whatever was analysed before") {
  int kinds[4] = {};
  for (int trial = 0; trial < 24; ++trial) {
    CAPTURE(trial);
    std::mt19937_64 engine(at(trial));
    history h{
        .engine = engine,
        .rows = sets_of(random_pattern(engine, trial % 4 == 2 ? 2000 : 1 + draw(engine, 70), 3)),
        .symmetric = draw(engine, 3) != 0};
    if (h.symmetric) h.rows = sets_of(symmetrized(pattern_of_sets(h.rows), diagonal::keep));
    analysis_options options{
        .device = trial % 2 == 0 ? compute_device::cpu : compute_device::automatic,
        .threads = 1 + draw(engine, 3),
        .order = trial % 4 == 1 ? order_method::cpu_nested_dissection : order_method::amf};
    if (trial % 5 == 1) options.factors = options.tree = true;
    if (trial % 5 == 2) options.supernodal = options.supernodes = true;
    if (trial % 5 == 3) options.masks = true;
    if (trial % 5 == 4) options.tree = true;
    analyzer updating(options);
    std::vector<std::int32_t> last;
    for (int step = 0; step < 12; ++step) {
      CAPTURE(step);
      const pattern a = pattern_of_sets(h.rows);
      const analysis& found = updating.update(view_of(a), h.previous);
      CHECK((step > 0 || found.update.kind == order_change::new_order));
      ++kinds[static_cast<int>(found.update.kind)];
      if (options.order == order_method::amf) CHECK(found.order == "amf");
      if (found.update.kind == order_change::kept) CHECK(is_kept(found, last, h.previous));
      last = found.col_order;
      check_is_fresh(a, found, options);
      if (step % 3 == 2) {
        h.renumber(draw(h.engine, 4), draw(h.engine, 4));
      } else {
        h.edit(draw(h.engine, 4));
      }
    }
  }
  CHECK(kinds[static_cast<int>(order_change::new_order)] > 24);
  CHECK(kinds[static_cast<int>(order_change::kept)] > 24);
  CHECK(kinds[static_cast<int>(order_change::moved)] > 24);
}

TEST_CASE("updates of one pattern in every form agree, and options may change between them") {
  std::mt19937_64 engine(5);
  const pattern a = with_diagonal(generate("grid5:nx=20,ny=20"));
  history h{.engine = engine, .rows = sets_of(a)};
  analyzer rows({.device = compute_device::cpu, .order = order_method::amf});
  analyzer columns({.device = compute_device::cpu, .order = order_method::amf});
  rows.update(view_of(a));
  const arrays<std::int32_t, std::int32_t> first(a);
  columns.update(csc_view_32{a.n_rows, first.ptr, first.idx});
  h.edit(3);
  const pattern b = pattern_of_sets(h.rows);
  const arrays<std::int32_t, std::int32_t> second(b);
  const analysis& by_rows = rows.update(view_of(b));
  const analysis& by_columns = columns.update(csc_view_32{b.n_rows, second.ptr, second.idx});
  CHECK(by_rows.update.kind == by_columns.update.kind);
  CHECK(by_rows.update.rows_changed == 6);
  CHECK(by_rows.row_order == by_columns.row_order);
  CHECK(by_rows.nnz_l == by_columns.nnz_l);

  rows.options().factors = true;  // not of the order
  CHECK(rows.update(view_of(b)).update.kind == order_change::kept);
  check_is_fresh(b, rows.update(view_of(b)), rows.options());
  rows.options().order = order_method::cpu_nested_dissection;
  CHECK(rows.update(view_of(b)).update.kind == order_change::new_order);
  CHECK(rows.update(view_of(b)).update.rows_changed == 0);
  rows.options().match = false;
  CHECK(rows.update(view_of(b)).update.kind == order_change::new_order);
  rows.options().order = order_method::natural;
  CHECK(rows.update(view_of(b)).order == "natural");
  rows.options().order = order_method::cpu_nested_dissection;
  CHECK(rows.update(view_of(b)).update.kind == order_change::new_order);
  // analyze() leaves the order alone.
  rows.analyze(view_of(a));
  const analysis& again = rows.update(view_of(b));
  CHECK(again.update.kind == order_change::kept);
  CHECK(again.update.rows_changed == 0);
  CHECK(analyze(view_of(b)).update.rows_changed == 0);
}

TEST_CASE("an analyzer goes on after steps that fail, with the order of the last result") {
  std::mt19937_64 engine(6);
  const pattern a = symmetrized(random_pattern(engine, 60, 4), diagonal::keep);
  analyzer updating({.device = compute_device::cpu, .order = order_method::amf});
  updating.update(view_of(a));
  pattern singular = a;  // the last row has the entries of the first
  singular.col_idx.resize(at(a.row_ptr[59]));
  singular.col_idx.insert(singular.col_idx.end(), 1, 0);
  singular.row_ptr.back() = static_cast<offset_t>(singular.col_idx.size());
  for (auto& j : singular.col_idx) j = j == 59 ? 0 : j;
  CHECK(refusal([&] { updating.update(view_of(singular)); }).find("structurally singular") !=
        std::string::npos);
  CHECK(updating.update(view_of(a)).update.kind == order_change::kept);

  const auto refused = [&](std::vector<std::int32_t> previous) {
    return refusal([&] { updating.update(view_of(a), previous); });
  };
  std::vector<std::int32_t> same = identity_order(60);
  CHECK(refused({0}) == "previous: 1 entries for order 60");
  same[3] = 60;
  CHECK(refused(same) == "previous: row 3 has 60, outside [-1, 60)");
  same[3] = 4;
  CHECK(refused(same) == "previous: row 4 occurs twice");
  same[3] = -2;
  CHECK(refused(same) == "previous: row 3 has -2, outside [-1, 60)");
  CHECK(updating.update(view_of(a)).update.kind == order_change::kept);

  updating.options().progress = [&](const analysis_progress&) { return false; };
  CHECK_THROWS_AS(updating.update(view_of(a)), analysis_error);
  int called = 0;
  updating.options().progress = [&](const analysis_progress&) {
    ++called;
    CHECK(refusal([&] { updating.update(view_of(a)); }) ==
          "analyzer: an analysis has not ended yet");
    return true;
  };
  CHECK(updating.update(view_of(a)).update.kind == order_change::kept);
  CHECK(called > 0);
}

TEST_CASE("what a cancelled update has found is not taken for the result of the next one") {
  const pattern a = with_diagonal(generate("grid5:nx=70,ny=70"));
  analyzer updating({.device = compute_device::cpu,
                     .order = order_method::cpu_nested_dissection,
                     .factors = true,
                     .progress_seconds = 1e-6});
  updating.options().progress = [&](const analysis_progress& p) {
    return p.stage < analysis_stage::permute;
  };
  // A short stage may pass between two calls of progress.
  std::optional<failure> kind;
  for (int attempt = 0; attempt < 200 && !kind; ++attempt) {
    try {
      updating.update(view_of(a));
    } catch (const analysis_error& e) {
      kind = e.kind();
    }
  }
  CHECK(kind == failure::cancelled);
  updating.options().progress = {};
  updating.options().order = order_method::natural;
  updating.update(view_of(a));
  updating.options().order = order_method::cpu_nested_dissection;
  CHECK(updating.update(view_of(a)).update.kind == order_change::new_order);
}

TEST_CASE("`previous` is checked before every update") {
  const pattern a = with_diagonal(generate("grid5:nx=6,ny=5"));
  std::vector<std::int32_t> reverse = identity_order(30);
  std::ranges::reverse(reverse);
  for (const order_method order : {order_method::amf, order_method::natural, order_method::given}) {
    std::vector<std::int32_t> permutation;
    if (order == order_method::given) permutation = reverse;
    analyzer updating({.device = compute_device::cpu, .order = order, .permutation = permutation});
    for (int step = 0; step < 2; ++step) {
      CAPTURE(step);
      const auto refused = [&](std::size_t row, std::int32_t value) {
        std::vector<std::int32_t> previous = identity_order(30);
        previous[row] = value;
        return refusal([&] { updating.update(view_of(a), previous); });
      };
      CHECK(refused(3, 30) == "previous: row 3 has 30, outside [-1, 30)");
      CHECK(refused(3, -2) == "previous: row 3 has -2, outside [-1, 30)");
      CHECK(refused(3, 4) == "previous: row 4 occurs twice");
      CHECK(refusal([&] { updating.update(view_of(a), std::vector<std::int32_t>(29)); }) ==
            "previous: 29 entries for order 30");
      CHECK(updating.update(view_of(a), reverse).n == 30);
    }
    updating.options().permutation = {};
    updating.update(view_of(pattern()));
    updating.options().permutation = permutation;
    CHECK(refusal([&] { updating.update(view_of(a), reverse); }) ==
          "previous: row 0 has 29, outside [-1, 0)");
    CHECK(updating.update(view_of(a), std::vector<std::int32_t>(30, -1)).n == 30);
  }
}

TEST_CASE("an order is compared with a new one once more than 2 % of the rows have changed") {
  const pattern mesh = with_diagonal(generate("grid5:nx=30,ny=30"));
  std::mt19937_64 engine(11);
  history h{.engine = engine, .rows = sets_of(mesh)};
  analyzer updating({.device = compute_device::cpu, .order = order_method::amf});
  updating.update(view_of(mesh));
  h.renumber(0, 0);
  const pattern other = pattern_of_sets(h.rows);
  const order_update all = updating.update(view_of(other)).update;
  CHECK(all.compared);
  CHECK(all.rows_changed > 225);
  // Two rows a step: 18 of 900 may change.
  for (int step = 1; step <= 10; ++step) {
    CAPTURE(step);
    const auto v = static_cast<index_t>(90 * step - 60);
    const std::set<index_t> row = h.rows[at(v)];
    h.set(v, *std::ranges::find_if(row, [&](index_t u) { return u != v; }), false);
    h.previous.clear();
    const pattern edited = pattern_of_sets(h.rows);
    const order_update one = updating.update(view_of(edited)).update;
    CHECK(one.rows_changed == 2);
    CHECK(one.compared == (step == 10));
  }
}

TEST_CASE("an order recovers from a clique that is gone") {
  const pattern mesh = with_diagonal(generate("grid5:nx=40,ny=40"));
  std::mt19937_64 engine(12);
  history h{.engine = engine, .rows = sets_of(mesh)};
  std::vector<index_t> clique = identity_order(mesh.n_rows);
  std::ranges::shuffle(clique, engine);
  clique.resize(100);
  for (const index_t i : clique) {
    for (const index_t j : clique) h.set(i, j, true);
  }
  const pattern with_clique = pattern_of_sets(h.rows);
  const analysis_options options{.device = compute_device::cpu, .order = order_method::amf};
  analyzer updating(options);
  updating.update(view_of(with_clique));
  const analysis& found = updating.update(view_of(mesh));
  CHECK(found.update.compared);
  CHECK(operations_of(found) <= 1.05 * operations_of(analyze(view_of(mesh), options)));
}

TEST_CASE("empty patterns and other orders begin anew") {
  const pattern none;
  const pattern one = with_diagonal(pattern{1, 1, {0, 0}, {}});
  analyzer updating({.device = compute_device::cpu});
  CHECK(updating.update(view_of(none)).n == 0);
  CHECK(updating.update(view_of(one)).nnz_u == 1);
  CHECK(updating.update(view_of(one), std::vector<std::int32_t>{0}).update.kind ==
        order_change::kept);
  CHECK(updating.update(view_of(none)).n == 0);
  std::mt19937_64 engine(7);
  const pattern a = random_pattern(engine, 20, 10);
  const pattern b = random_pattern(engine, 21, 10);
  CHECK(updating.update(view_of(a)).update.kind == order_change::new_order);
  CHECK(updating.update(view_of(b)).update.kind == order_change::new_order);
}

TEST_CASE("rows that are matched are followed by their columns") {
  // A cyclic shift of the rows of a mesh: no diagonal entry is there.
  const pattern mesh = with_diagonal(generate("grid5:nx=15,ny=15"));
  std::vector<index_t> shift = identity_order(mesh.n_rows);
  std::ranges::rotate(shift, shift.begin() + 40);
  std::mt19937_64 engine(8);
  history h{.engine = engine, .rows = sets_of(mesh), .symmetric = false};
  analysis_options options{.device = compute_device::cpu, .order = order_method::amf};
  analyzer updating(options);
  int adapted = 0;
  for (int step = 0; step < 10; ++step) {
    const pattern a = permute(pattern_of_sets(h.rows), shift, identity_order(mesh.n_rows));
    const analysis& found = updating.update(view_of(a));
    adapted += found.update.kind == order_change::new_order ? 0 : 1;
    check_is_fresh(a, found, options);
    h.edit(1);
  }
  CHECK(adapted > 0);
}

TEST_CASE("fifty steps of a structural matrix keep the operations of new orders") {
  std::mt19937_64 engine(9);
  const csr_pattern read = read_pattern(GSOFA_SOURCE_DIR "/experiments/matrices/bcsstk18.mtx.gz");
  pattern a{read.n, read.n, read.row_ptr, read.col_idx};
  history h{.engine = engine, .rows = sets_of(a)};
  analyzer updating({.device = compute_device::cpu, .order = order_method::amf});
  int compared = 0;
  double adapted = 0;
  double anew = 0;
  for (int step = 0; step < 50; ++step) {
    a = pattern_of_sets(h.rows);
    const analysis& found = updating.update(view_of(a));
    compared += found.update.kind == order_change::new_order || found.update.compared ? 1 : 0;
    const analysis fresh =
        analyze(view_of(a), {.device = compute_device::cpu, .order = order_method::amf});
    adapted += operations_of(found);
    anew += operations_of(fresh);
    CHECK(operations_of(found) <= 1.25 * operations_of(fresh));
    // A contact between two near vertices opens, another one closes.
    const index_t v = draw(h.engine, h.n());
    const index_t u = *std::next(h.rows[at(v)].begin(),
                                 draw(h.engine, static_cast<index_t>(h.rows[at(v)].size())));
    const index_t w = *std::next(h.rows[at(u)].begin(),
                                 draw(h.engine, static_cast<index_t>(h.rows[at(u)].size())));
    if (w != v) h.set(v, w, !h.rows[at(v)].contains(w));
  }
  CHECK(adapted <= 1.05 * anew);
  CHECK(compared < 15);
}

}  // namespace
}  // namespace gsofa
